"""An audit log that can only grow, and that shows when somebody changed it.

Every line is one event as JSON with a number and the hash of the line before it; a line that was changed, moved, added
or removed breaks the chain. With a key the hashes cannot be computed anew by whoever can write the file. Cutting lines
off the end leaves a good chain: keep `AuditLog.head` elsewhere and give it to `verify`.
"""

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import AuditBroken
from .events import ServiceEvent

_START = "0" * 64
_TAIL_BYTES = 65_536
_TORN = "torn"


@dataclass(frozen=True, slots=True)
class AuditHead:
    """How long a log is and the hash of its last line: enough to prove later that nothing was cut off."""

    lines: int
    hash: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    number: int
    event: dict[str, Any]


class AuditLog:
    """Appends events to one file; several processes may share it. Give `append` to a service as a listener.

    ``durable`` waits for the disk at every line, so that a power cut loses none; without it only a crash of the machine
    can. What a crash tore off in the middle of a line is closed by a line that says so.
    """

    def __init__(self, path: Path, *, key: bytes = b"", durable: bool = False) -> None:
        self._path = path
        self._key = key
        self._durable = durable

    def append(self, event: ServiceEvent) -> None:
        """Write one event. Raises `OSError` when the file cannot be written."""
        with self._locked() as file:
            head, torn = _last(file)
            if torn:
                os.write(file, b"\n")
                head = self._write(file, head, {"kind": _TORN, "sha256": hashlib.sha256(torn).hexdigest()})
            self._write(file, head, event.facts())
            if self._durable:
                os.fsync(file)

    def head(self) -> AuditHead:
        """The head of the whole log. Raises `AuditBroken`."""
        return self.verify()

    def verify(self, expected: AuditHead | None = None) -> AuditHead:
        """Check every line, and that ``expected`` is still a part of the log. Raises `AuditBroken`; returns the
        head.
        """
        head = AuditHead(0, _START)
        if expected is not None and expected.lines == 0:
            expected = None
        for line, entry_head in self._checked():
            head = entry_head
            if expected is not None and head.lines == expected.lines and head.hash != expected.hash:
                raise AuditBroken(line, "is not the line that was there when its hash was noted")
        if expected is not None and head.lines < expected.lines:
            raise AuditBroken(head.lines + 1, f"the log once had {expected.lines} entries and lost some")
        return head

    def entries(self, limit: int | None = None) -> list[AuditEntry]:
        """The last ``limit`` entries, oldest first."""
        found = [AuditEntry(entry["n"], entry["event"]) for entry in map(_parsed, self._lines()) if entry is not None]
        return found if limit is None else found[-limit:] if limit else []

    def _checked(self) -> Iterator[tuple[int, AuditHead]]:
        head = AuditHead(0, _START)
        torn = b""
        for number, line in enumerate(self._lines(), start=1):
            entry = _parsed(line)
            if entry is None:
                if torn:
                    raise AuditBroken(number, "two torn lines follow each other")
                torn = line
                continue
            self._check(number, entry, head, torn)
            torn = b""
            head = AuditHead(entry["n"], entry["hash"])
            yield number, head
        # A torn line at the very end is a crash that no later line has closed yet; it was never a whole entry.

    def _check(self, number: int, entry: dict[str, Any], head: AuditHead, torn: bytes) -> None:
        if entry.get("n") != head.lines + 1 or entry.get("previous") != head.hash:
            raise AuditBroken(number, "does not follow the line before it")
        if not hmac.compare_digest(str(entry.get("hash")), self._hash(entry)):
            raise AuditBroken(number, "was changed after it was written")
        if torn and entry["event"] != {"kind": _TORN, "sha256": hashlib.sha256(torn).hexdigest()}:
            raise AuditBroken(number - 1, "is no entry, and no later line accounts for it")

    def _write(self, file: int, head: AuditHead, event: dict[str, Any]) -> AuditHead:
        entry: dict[str, Any] = {"n": head.lines + 1, "previous": head.hash, "event": event}
        entry["hash"] = self._hash(entry)
        os.write(file, json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        return AuditHead(entry["n"], entry["hash"])

    def _hash(self, entry: dict[str, Any]) -> str:
        facts = {name: entry.get(name) for name in ("n", "previous", "event")}
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest() if self._key else hashlib.sha256(text).hexdigest()

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _lines(self) -> Iterator[bytes]:
        if self._path.exists():
            with self._path.open("rb") as file:
                yield from (line.rstrip(b"\n") for line in file)


def _last(file: int) -> tuple[AuditHead, bytes]:
    """The head as the end of the file tells it, and what stands after the last whole line."""
    size = os.fstat(file).st_size
    back = _TAIL_BYTES
    while True:
        tail = os.pread(file, back, max(0, size - back))
        *whole, torn = tail.split(b"\n")
        for line in reversed(whole):
            entry = _parsed(line)
            if entry is not None:
                return AuditHead(int(entry["n"]), str(entry["hash"])), torn
        if back >= size:
            return AuditHead(0, _START), torn
        back *= 2


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and {"n", "hash", "event"} <= entry.keys() else None


__all__ = ["AuditEntry", "AuditHead", "AuditLog"]
