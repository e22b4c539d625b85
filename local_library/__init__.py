"""Documents on this machine, found again later: `DomainLibrary` manages them, the provider retrieves from it."""

from .errors import (
    DocumentNotFound,
    DocumentRejected,
    FolderNotUsable,
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryFull,
    LibraryStorageFailed,
)
from .library import DomainLibrary
from .provider import LocalDomainKnowledgeProvider
from .records import DocumentInfo, FoundPassage, Heading, ImportOutcome, ImportStatus

__all__ = [
    "DocumentInfo",
    "DocumentNotFound",
    "DocumentRejected",
    "DomainLibrary",
    "FolderNotUsable",
    "FoundPassage",
    "Heading",
    "ImportOutcome",
    "ImportStatus",
    "LibraryBusy",
    "LibraryDamaged",
    "LibraryError",
    "LibraryFull",
    "LibraryStorageFailed",
    "LocalDomainKnowledgeProvider",
]
