"""A parser's process can neither reach the network, nor write files, nor start programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from local_library.extraction.confinement import confine
import ctypes, os, socket, subprocess
confine(memory_bytes=200_000_000, cpu_seconds=5)
{attempt}
print("went through")
"""


def attempted(attempt: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(attempt=attempt)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1] if done.stdout or done.stderr else "died"


def test_harmless_work_goes_through() -> None:
    """The confinement itself breaks nothing."""
    assert attempted("sum(range(1000))") == "went through"


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket()",
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.getaddrinfo('example.org', 80)",
        "subprocess.run(['true'])",
    ],
)
def test_network_and_programs_are_refused(attempt: str) -> None:
    """Python code gets a PermissionError."""
    assert "PermissionError" in attempted(attempt)


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"), reason="a Linux filter")
def test_native_code_gets_no_socket() -> None:
    """A parser in C that calls socket() itself is refused by the kernel."""
    attempt = "assert ctypes.CDLL(None, use_errno=True).socket(2, 1, 0) == -1 and ctypes.get_errno() == 13"
    assert attempted(attempt) == "went through"


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit the address space")
def test_memory_is_bounded() -> None:
    """More than the limit is a MemoryError, not a full machine."""
    assert "MemoryError" in attempted("bytearray(2_000_000_000)")


def test_no_file_can_be_written(tmp_path: Path) -> None:
    """A write to a file ends the process or fails."""
    target = tmp_path / "out"
    assert attempted(f"os.write(os.open({str(target)!r}, os.O_CREAT | os.O_WRONLY), b'x')") != "went through"
    assert not target.exists() or target.read_bytes() == b""
