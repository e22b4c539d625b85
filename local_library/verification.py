"""Checks that records, originals and index belong together, down to each passage's lineage."""

from collections.abc import Iterator

from .catalog import Catalog
from .originals import Originals, content_hash
from .records import DocumentInfo, Problem
from .semantic.soundness import vector_problems
from .workspace import Workspace


def problems(workspace: Workspace, catalog: Catalog, owner_id: str) -> Iterator[Problem]:
    """What is wrong with an owner's documents; nothing when all is well. Reads every original."""
    state = workspace.integrity()
    if state != "ok":
        yield Problem("records_damaged", "", f"SQLite says of the records: {state}.")
    for document in catalog.documents(owner_id):
        yield from _of_original(workspace.originals, document)
        yield from _of_passages(workspace, catalog, document)
    yield from vector_problems(workspace.vectors, catalog, owner_id)


def _of_original(originals: Originals, document: DocumentInfo) -> Iterator[Problem]:
    try:
        content = originals.read(document.owner_id, document.source_content_hash)
    except OSError:
        yield Problem("original_missing", document.document_id, f"The kept original of {document.title!r} is missing.")
        return
    if content_hash(content) != document.source_content_hash:
        yield Problem("original_changed", document.document_id, f"The kept original of {document.title!r} was changed.")


def _of_passages(workspace: Workspace, catalog: Catalog, document: DocumentInfo) -> Iterator[Problem]:
    passages = list(catalog.passages_of(document.owner_id, document.document_id))
    if len(passages) != document.passages:
        yield Problem("passages_missing", document.document_id, f"Passages of {document.title!r} are missing.")
    stored = {
        (one.chunk.chunk_id, one.chunk.source_content_hash, one.chunk.extractor_id, one.chunk.chunker_id)
        for one in passages
    }
    indexed = {
        (entry["key"].split("||")[1], entry["source_content_hash"], entry["extractor_id"], entry["chunker_id"])
        for entry in workspace.index.lineage(document.owner_id, document.document_id)
    }
    if stored != indexed:
        yield Problem(
            "index_differs", document.document_id, f"The index differs from the passages of {document.title!r}."
        )
    if any(one.chunk.source_content_hash != document.source_content_hash for one in passages):
        yield Problem("lineage_broken", document.document_id, f"Passages of {document.title!r} are of other bytes.")


__all__ = ["problems"]
