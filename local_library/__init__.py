"""Documents on this machine, found again later: `DomainLibrary` manages them, the provider retrieves from it.

Names are loaded when first used: the processes that read files need a small part of this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        DocumentNotFound,
        DocumentRejected,
        EmbedderNotUsable,
        FolderNotUsable,
        LibraryBusy,
        LibraryDamaged,
        LibraryError,
        LibraryFull,
        LibraryStorageFailed,
    )
    from .extraction.limited import ReadingLimits
    from .importing import LibraryLimits
    from .library import DomainLibrary, default_store
    from .ports import Embedder
    from .provider import LocalDomainKnowledgeProvider
    from .reconcile import Drift, Evidence
    from .records import (
        DocumentInfo,
        DocumentPage,
        FoundPassage,
        Heading,
        ImportOutcome,
        ImportStatus,
        Problem,
        QuarantinedFile,
        ReadText,
        Removal,
    )
    from .semantic.choosing import embedder_named
    from .semantic.sentence_encoder import OfflineEmbedder
    from .status import DocumentStatus, Status

_HOMES = {
    ".errors": "DocumentNotFound DocumentRejected EmbedderNotUsable FolderNotUsable LibraryBusy LibraryDamaged "
    "LibraryError LibraryFull LibraryStorageFailed",
    ".extraction.limited": "ReadingLimits",
    ".importing": "LibraryLimits",
    ".library": "DomainLibrary default_store",
    ".ports": "Embedder",
    ".provider": "LocalDomainKnowledgeProvider",
    ".reconcile": "Drift Evidence",
    ".records": "DocumentInfo DocumentPage FoundPassage Heading ImportOutcome ImportStatus Problem QuarantinedFile "
    "ReadText Removal",
    ".semantic.choosing": "embedder_named",
    ".semantic.sentence_encoder": "OfflineEmbedder",
    ".status": "DocumentStatus Status",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "DocumentInfo",
    "DocumentNotFound",
    "DocumentPage",
    "DocumentRejected",
    "DocumentStatus",
    "DomainLibrary",
    "Drift",
    "Embedder",
    "EmbedderNotUsable",
    "Evidence",
    "FolderNotUsable",
    "FoundPassage",
    "Heading",
    "ImportOutcome",
    "ImportStatus",
    "LibraryBusy",
    "LibraryDamaged",
    "LibraryError",
    "LibraryFull",
    "LibraryLimits",
    "LibraryStorageFailed",
    "LocalDomainKnowledgeProvider",
    "OfflineEmbedder",
    "Problem",
    "QuarantinedFile",
    "ReadText",
    "ReadingLimits",
    "Removal",
    "Status",
    "default_store",
    "embedder_named",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name], __name__), name)
