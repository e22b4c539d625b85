"""Every error of the library, in one tree.

    LibraryError
    ├─ DocumentNotFound        no such document, or not this owner's
    ├─ DocumentRejected        the file cannot become a document; `code` says why, the file is left as it is
    ├─ FolderNotUsable         a folder to import or mirror is missing, is no folder, or lies inside the library
    ├─ LibraryFull             a bound of the library is reached; nothing was dropped to make room
    ├─ LibraryBusy             another process is writing
    ├─ EmbedderNotUsable       the embedder is missing, wrong, or made for tests only; search can be opened without one
    ├─ LibraryDamaged          records cannot be read; the index, a cache, is mended without this error
    └─ LibraryStorageFailed    the disk is full or cannot be written; nothing stored before is lost

Each has a ``code`` for programs and a sentence for people that says what happened, to which file, and what to do.
"""

from pathlib import Path
from typing import ClassVar


def encodable(text: str) -> str:
    """``text`` with escapes for what no encoding can hold: the bytes of a file name that is not Unicode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class LibraryError(Exception):
    """Base of every error that the library raises on purpose."""

    code: ClassVar[str] = "library_error"


class DocumentNotFound(LibraryError):
    """Raised when an owner asks for a document that this owner does not have."""

    code = "library_document_not_found"

    def __init__(self, what: str) -> None:
        super().__init__(f"No document {what!r} in this library. List the documents to see their ids.")
        self.what = what


class DocumentRejected(LibraryError):
    """Raised when a file cannot become a document: empty, encrypted, damaged, too large, of an unknown kind."""

    code = "library_document_rejected"

    def __init__(self, path: Path | str, reason: str, remedy: str, *, reason_code: str) -> None:
        super().__init__(encodable(f"{Path(path).name}: {reason}. {remedy}."))
        self.path = encodable(str(path))
        self.reason = reason
        self.remedy = remedy
        self.reason_code = reason_code


class FolderNotUsable(LibraryError):
    """Raised when a folder of documents cannot be read, or a folder for an export not be written."""

    code = "library_folder_not_usable"

    def __init__(
        self, folder: Path | str, problem: str, remedy: str = "Name an existing folder with documents in it"
    ) -> None:
        super().__init__(encodable(f"{folder}: {problem}. {remedy}."))
        self.folder = encodable(str(folder))
        self.problem = problem


class LibraryFull(LibraryError):
    """Raised when an import would exceed a bound of the library; no older document is dropped for it."""

    code = "library_full"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"The library holds its limit of {limit:,} {what}. Remove documents or raise the limit.")
        self.what = what
        self.limit = limit


class LibraryBusy(LibraryError):
    """Raised when another process keeps the library's writer lock for longer than this one may wait."""

    code = "library_busy"

    def __init__(self, store: Path, waited_seconds: float) -> None:
        super().__init__(
            f"Another process is writing to the library in {store}; waited {waited_seconds:g} s. "
            "Try again when it is done."
        )
        self.store = store


class EmbedderNotUsable(LibraryError):
    """Raised when an embedder cannot be taken: not installed, not the model it should be, or made for tests only."""

    code = "library_embedder_not_usable"

    def __init__(self, embedder: str, problem: str, remedy: str) -> None:
        super().__init__(f"The embedder {embedder!r} {problem}. {remedy}")
        self.embedder = embedder
        self.problem = problem


class LibraryDamaged(LibraryError):
    """Raised when the library's records cannot be read."""

    code = "library_damaged"

    def __init__(self, store: Path, problem: str) -> None:
        super().__init__(f"The library in {store} cannot be opened: {problem}. Restore it from a backup or an export.")
        self.store = store
        self.problem = problem


class LibraryStorageFailed(LibraryError):
    """Raised when the disk refuses a write; what was stored before is still there."""

    code = "library_storage_failed"

    def __init__(self, store: Path, problem: str) -> None:
        super().__init__(f"The library in {store} cannot write: {problem}. Nothing stored before is lost.")
        self.store = store
        self.problem = problem


__all__ = [
    "DocumentNotFound",
    "DocumentRejected",
    "EmbedderNotUsable",
    "FolderNotUsable",
    "LibraryBusy",
    "LibraryDamaged",
    "LibraryError",
    "LibraryFull",
    "LibraryStorageFailed",
    "encodable",
]
