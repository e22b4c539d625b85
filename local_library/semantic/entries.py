"""What a vector store holds of a passage, and what it answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ports import Embedder


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Where vectors come from. Vectors of different spaces are never compared and never kept together."""

    embedder_id: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """The passage that a vector was made of, with the lineage of its text, unchanged."""

    passage_id: int
    document_id: str
    chunk_id: str
    source_content_hash: str


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A passage and its cosine with the question's vector, -1..1, higher for better."""

    passage_id: int
    similarity: float


def space_of(embedder: "Embedder") -> VectorSpace:
    return VectorSpace(embedder.embedder_id, embedder.model, embedder.dimensions)


__all__ = ["VectorEntry", "VectorHit", "VectorSpace", "space_of"]
