"""What a list says of a document: ready, ready with warnings, or no longer what its file is.

Files that nobody touched since they were imported are not read. A change that keeps a file's size and times is found by
`reconcile` alone.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .reconcile import Drift, FileProbe
from .records import DocumentInfo

_LONGEST_READING_SECONDS = 100.0


class Status(StrEnum):
    """How a document stands."""

    READY = "ready"
    READY_WITH_WARNINGS = "ready_with_warnings"
    CHANGED = "changed"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The status, and a sentence for people that says what it means; empty where the document is ready."""

    status: Status
    sentence: str = ""


_SENTENCES = {
    Drift.CHANGED: "Its file was changed after it was imported; answers come from the older text.",
    Drift.MISSING: "Its file is gone; answers come from what was imported.",
    Drift.UNREADABLE: "Its file cannot be read any more; answers come from what was imported.",
}


class StatusWatch:
    """Compares documents with their files. Remembers the hash of a file that was touched until it is touched again."""

    def __init__(self) -> None:
        self._hashed: dict[str, tuple[tuple[int, int, int], str]] = {}

    def status(self, document: DocumentInfo) -> DocumentStatus:
        """How ``document`` stands; one that was imported as bytes under a name, not a path, has no file to compare."""
        drift = self._drift(document) if Path(document.path).is_absolute() else None
        if drift is not None:
            return DocumentStatus(Status(drift.value), _SENTENCES[drift])
        return DocumentStatus(Status.READY_WITH_WARNINGS if document.warnings else Status.READY)

    def _drift(self, document: DocumentInfo) -> Drift | None:
        try:
            seen = Path(document.path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return Drift.MISSING
        except OSError:
            return Drift.UNREADABLE
        if seen.st_size != document.size:
            return Drift.CHANGED
        # It may have been changed while it was being read, so a little before it was stored counts as after it.
        if max(seen.st_mtime, seen.st_ctime) < document.imported_at - _LONGEST_READING_SECONDS:
            return None
        return self._compared(document, (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))

    def _compared(self, document: DocumentInfo, stamp: tuple[int, int, int]) -> Drift | None:
        known_stamp, content_hash = self._hashed.get(document.path, (None, ""))
        if known_stamp != stamp:
            found = FileProbe().look(document.path)
            if found.drift is not None:
                return found.drift
            content_hash = found.content_hash
            self._hashed[document.path] = (stamp, content_hash)
        return None if content_hash == document.source_content_hash else Drift.CHANGED


__all__ = ["DocumentStatus", "Status", "StatusWatch"]
