"""Reads files in limited child processes: a crash, a bomb or a hang costs one file its place, nothing more."""

import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DocumentRejected
from ..records import ExtractedText, Segment, SegmentKind

_GRACE_SECONDS = 10.0
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What one file may cost: memory in bytes, processor and wall-clock time in seconds, and readers at a time."""

    memory_bytes: int = 1_000_000_000
    cpu_seconds: int = 60
    wall_seconds: float = 90.0
    processes: int = 2


class LimitedExtractor:
    """The shipped `TextExtractor`. Fork servers start when first needed and end with `close`. Thread-safe."""

    def __init__(self, limits: ReadingLimits | None = None) -> None:
        self._limits = limits or ReadingLimits()
        self._idle: queue.LifoQueue[_ForkServer | None] = queue.LifoQueue()
        for _ in range(self._limits.processes):
            self._idle.put(None)

    def extract(self, path: str, content: bytes, source_content_hash: str) -> tuple[ExtractedText, str]:
        """The text of ``content`` and its media type. Raises `DocumentRejected` when it cannot be read."""
        server = self._idle.get()  # waits for a place when all readers are at work
        try:
            server = server or _ForkServer()
            answer = server.ask(path, content, source_content_hash, self._limits)
        except (OSError, ValueError, EOFError) as error:
            if server is not None:
                server.end()
            server = None
            raise DocumentRejected(
                path, "made its reader fail", "Save it again from its program", reason_code="crashed"
            ) from error
        finally:
            self._idle.put(server)
        if "code" in answer:
            raise DocumentRejected(path, answer["problem"], answer["remedy"], reason_code=answer["code"])
        return _extracted(answer["extracted"]), answer["media_type"]

    def close(self) -> None:
        """End the fork servers that are idle."""
        idle = [self._idle.get() for _ in range(self._limits.processes)]
        for server in idle:
            if server is not None:
                server.end()
            self._idle.put(None)


class _ForkServer:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_PACKAGE_ROOT,
            env=_environment(),
        )

    def ask(self, path: str, content: bytes, source_content_hash: str, limits: ReadingLimits) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - both are pipes, as asked for above
        assert self._process.stdout is not None  # noqa: S101
        head = {
            "path": path,
            "size": len(content),
            "source_content_hash": source_content_hash,
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "wall_seconds": limits.wall_seconds,
        }
        watch = threading.Timer(limits.wall_seconds + _GRACE_SECONDS, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(head).encode() + b"\n")
            self._process.stdin.write(content)
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise EOFError("the reader ended")
            answer: dict[str, Any] = json.loads(self._process.stdout.read(json.loads(line)["size"]))
        finally:
            watch.cancel()
        return answer

    def end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _environment() -> dict[str, str]:
    """What a reader may know of this process: no keys, no tokens."""
    kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _extracted(answer: dict[str, Any]) -> ExtractedText:
    segments = tuple(Segment(**(segment | {"kind": SegmentKind(segment["kind"])})) for segment in answer["segments"])
    return ExtractedText(
        answer["source_content_hash"],
        answer["extractor_id"],
        answer["title"],
        segments,
        tuple(answer["warnings"]),
        answer["uri"],
        answer["pages"],
    )


__all__ = ["LimitedExtractor", "ReadingLimits"]
