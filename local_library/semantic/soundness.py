"""Checks that the vectors are those that were written, and belong to the passages of the records."""

from collections import Counter
from collections.abc import Iterator

from ..catalog import Catalog
from ..records import Problem
from .vector_store import OwnerVectorStore

_REMEDY = "Run `earpiece library rebuild-index` with the embedder, or delete the folder of vectors."


def vector_problems(vectors: OwnerVectorStore, catalog: Catalog, owner_id: str) -> Iterator[Problem]:
    """What is wrong with an owner's vectors. A passage that waits for its vector is no problem."""
    try:
        damaged, kept = vectors.damaged(owner_id), vectors.lineage(owner_id)
    except OSError:
        yield Problem("vectors_damaged", "", f"The vectors cannot be read. {_REMEDY}")
        return
    if damaged:
        yield Problem("vectors_damaged", "", f"{damaged} vectors are not those that were written. {_REMEDY}")
    by_document: dict[str, list[dict[str, str]]] = {}
    for row in kept:
        by_document.setdefault(row["document_id"], []).append(row)
    known = set(catalog.document_ids(owner_id))
    for document_id, rows in by_document.items():
        if document_id not in known:
            yield Problem("vectors_left", document_id, f"{len(rows)} vectors are of a document that is gone. {_REMEDY}")
        elif not _belong(rows, catalog, owner_id, document_id):
            sentence = f"The vectors of document {document_id} are not those of its passages. {_REMEDY}"
            yield Problem("vectors_differ", document_id, sentence)


def _belong(rows: list[dict[str, str]], catalog: Catalog, owner_id: str, document_id: str) -> bool:
    """Whether each row is of a current passage, with its lineage, once; rows of a former version wait to be dropped."""
    current = {one.passage_id: one.chunk for one in catalog.passages_of(owner_id, document_id)}
    counted = Counter(int(row["passage_id"]) for row in rows)
    return max(counted.values()) == 1 and all(
        (chunk := current.get(int(row["passage_id"]))) is None
        or (row["key"].split("||")[1], row["source_content_hash"]) == (chunk.chunk_id, chunk.source_content_hash)
        for row in rows
    )


__all__ = ["vector_problems"]
