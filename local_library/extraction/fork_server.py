"""A small process that reads each file in a fork of itself: ready parsers, hard limits, nothing shared after.

Run as ``python -m local_library.extraction.fork_server``. One request at a time comes on standard input and one answer
goes to standard output, each a JSON head line followed by the bytes it announces.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from dataclasses import asdict
from typing import Any, BinaryIO

from .confinement import confine
from .outcome import Unreadable
from .reading import load_reader, read

MOST_ANSWER_BYTES = 200_000_000
_STEP_BYTES = 1_048_576


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the input ends."""
    while line := requests.readline():
        head = json.loads(line)
        content = requests.read(head["size"])
        load_reader(head["path"])
        body = _in_fork(head, content)
        answers.write(json.dumps({"size": len(body)}).encode() + b"\n" + body)
        answers.flush()


def _in_fork(head: dict[str, Any], content: bytes) -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(head, content, writing)
    os.close(writing)
    try:
        body, problem = _received(reading, time.monotonic() + head["wall_seconds"])
    finally:
        os.close(reading)
    if problem:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if problem:
        return _failure(*problem)
    return body if status == 0 and body else _failure(*_death(status))


def _child(head: dict[str, Any], content: bytes, writing: int) -> None:
    """Read the file and leave; the process never returns from here."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        confine(memory_bytes=head["memory_bytes"], cpu_seconds=head["cpu_seconds"])
        body = _answer(head, content)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(body)
        os._exit(0)
    except BaseException:
        os._exit(1)


def _answer(head: dict[str, Any], content: bytes) -> bytes:
    try:
        extracted, media_type = read(
            head["path"], content, head["source_content_hash"], seconds=head["cpu_seconds"] * 0.6
        )
    except Unreadable as error:
        return _failure(error.code, error.problem, error.remedy)
    except MemoryError:
        return _failure("too_much_memory", "needs too much memory to read", "Split it or save it in a simpler form")
    except RecursionError:
        return _failure("damaged", "is nested too deeply", "Save it again in a simpler form")
    except Exception as error:
        problem = f"could not be read ({type(error).__name__})"
        return _failure("damaged", problem, "Save it again from its program, or as PDF or text")
    return json.dumps({"media_type": media_type, "extracted": asdict(extracted)}).encode()


def _received(reading: int, until: float) -> tuple[bytes, tuple[str, str, str] | None]:
    parts: list[bytes] = []
    size = 0
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return b"", ("too_slow", "takes too long to read", "Split it or save it in a simpler form")
        part = os.read(reading, _STEP_BYTES)
        if not part:
            return b"".join(parts), None
        size += len(part)
        if size > MOST_ANSWER_BYTES:
            return b"", ("too_large", "holds too much text", "Split it")
        parts.append(part)


def _death(status: int) -> tuple[str, str, str]:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return "too_slow", "takes too long to read", "Split it or save it in a simpler form"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return "too_slow", "takes too much time or memory to read", "Split it or save it in a simpler form"
    return "crashed", "made its reader crash, perhaps by asking for too much memory", "Save it again from its program"


def _failure(code: str, problem: str, remedy: str) -> bytes:
    return json.dumps({"code": code, "problem": problem, "remedy": remedy}).encode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.stdin.buffer, sys.stdout.buffer)
