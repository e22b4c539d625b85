"""Drift: what the library holds against the files as they are now. It looks; it acts only when told to."""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from .catalog import Catalog
from .originals import Originals, owner_tag
from .records import DocumentInfo

_STEP_BYTES = 1_048_576


class Drift(StrEnum):
    """How a source differs from its document."""

    CHANGED = "changed"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding: what was stored, what is there now, and what was done about it (``none`` unless asked)."""

    drift: Drift
    document_id: str
    path: str
    stored_hash: str
    found_hash: str
    observed_at: float
    action: str = "none"


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a probe sees of a source: its content hash, or that it is missing or unreadable."""

    content_hash: str = ""
    drift: Drift | None = None


class SourceProbe(Protocol):
    """Looks at a document's source. Shipped: `FileProbe`."""

    def look(self, path: str) -> SourceState: ...


class FileProbe:
    """Hashes the file at a document's path."""

    def look(self, path: str) -> SourceState:
        try:
            with Path(path).open("rb") as file:
                digest = hashlib.sha256()
                while step := file.read(_STEP_BYTES):
                    digest.update(step)
        except FileNotFoundError:
            return SourceState(drift=Drift.MISSING)
        except OSError:
            return SourceState(drift=Drift.UNREADABLE)
        return SourceState(digest.hexdigest())


def findings(catalog: Catalog, originals: Originals, owner_id: str, probe: SourceProbe) -> Iterator[Evidence]:
    """One `Evidence` for every document whose source differs, and for every kept original without a version."""
    for document in catalog.documents(owner_id):
        evidence = _compared(document, probe)
        if evidence is not None:
            yield evidence
    known = catalog.all_hashes(owner_id)
    for path in originals.stored():
        if path.parent.parent.name == owner_tag(owner_id) and path.name not in known:
            yield Evidence(Drift.ORPHANED, "", str(path), path.name, "", time.time())


def _compared(document: DocumentInfo, probe: SourceProbe) -> Evidence | None:
    state = probe.look(document.path)
    drift = state.drift
    if drift is None and state.content_hash != document.source_content_hash:
        drift = Drift.CHANGED
    if drift is None:
        return None
    return Evidence(
        drift, document.document_id, document.path, document.source_content_hash, state.content_hash, time.time()
    )


__all__ = ["Drift", "Evidence", "FileProbe", "SourceProbe", "SourceState", "findings"]
