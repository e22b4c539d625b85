"""Takes from this process what a parser does not need: memory, processor time, files, the network."""

import contextlib
import ctypes
import platform
import resource
import struct
import sys
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ALLOW, _REFUSE_EACCES = 0x7FFF0000, 0x0005000D
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_SOCKET_CALLS = {"x86_64": (0xC000003E, (41, 42, 49, 53)), "aarch64": (0xC00000B7, (198, 203, 200, 199))}


def confine(*, memory_bytes: int, cpu_seconds: int) -> None:
    """Limit this process for good. ``memory_bytes`` comes on top of what it holds already."""
    _limit(resource.RLIMIT_AS, _address_space_bytes() + memory_bytes)
    _limit(resource.RLIMIT_CPU, cpu_seconds)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    sys.addaudithook(_refuse_network)
    _refuse_sockets()


def _limit(what: int, bound: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS knows RLIMIT_AS but refuses to set it
        resource.setrlimit(what, (allowed, allowed))


def _address_space_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 0
    return pages * resource.getpagesize()


def _refuse_network(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith("socket.") or event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        raise PermissionError(f"{event} is not allowed while a file is read")


def _socket_filter() -> tuple[ctypes.Array[ctypes.c_char], int] | None:
    """The kernel's program that refuses to create or use sockets (Linux); made once, for all forks of this process."""
    known = _SOCKET_CALLS.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return None
    architecture, calls = known
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    for call in calls:
        steps += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _REFUSE_EACCES)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    return ctypes.create_string_buffer(code, len(code)), len(steps)


_SOCKET_FILTER = _socket_filter()
_LIBC = ctypes.CDLL(None, use_errno=True)


def _refuse_sockets() -> None:
    """Make the kernel refuse sockets, also to native code."""
    if _SOCKET_FILTER is None:
        return
    code, steps = _SOCKET_FILTER
    program = struct.pack("HL", steps, ctypes.addressof(code))
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0)


__all__ = ["confine"]
