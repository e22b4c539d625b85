"""What goes into an index, what comes back unproven, and what a caller is shown."""

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

MetadataScalar = str | bool | int | float | None
MAX_DOCUMENT_ID_CHARACTERS = 200


class KnowledgeDocument(BaseModel):
    """One logical document. ``permissions`` are the grants that may read it: `None` means every identified caller.

    Documents of object sources carry no permissions: the system of record decides at every search.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    id: Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCUMENT_ID_CHARACTERS)]
    source_id: str
    source_record_id: str | None = None
    title: str = ""
    content: str
    uri: str | None = None
    metadata: dict[str, MetadataScalar] = Field(default_factory=dict)
    permissions: tuple[str, ...] | None = None
    version: int | None = None

    def content_hash(self) -> str:
        """Changes with anything a reader of the document could notice; the version alone changes nothing."""
        facts = self.model_dump(mode="json", exclude={"version"})
        return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHit:
    """What an index proposes. Nothing here is believed: it only says where to look, and in which order."""

    document_id: str
    chunk_id: str
    score: float
    snippet: str = ""
    source_record_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeHit:
    """A passage this caller may read. Its text was read from the record or document itself, not from the index."""

    source_id: str
    document_id: str
    chunk_id: str
    score: float
    snippet: str
    title: str = ""
    uri: str | None = None
    source_record_id: str | None = None
    metadata: dict[str, MetadataScalar] = field(default_factory=dict)

    def scored(self, score: float) -> "KnowledgeHit":
        return replace(self, score=score)


def is_wellformed(hit: object) -> bool:
    """Whether a proposal has the types it promises: text ids (a number is not an id) and a finite score."""
    if not isinstance(hit, IndexHit):
        return False
    texts = (hit.document_id, hit.chunk_id, hit.snippet)
    record = hit.source_record_id
    scored = isinstance(hit.score, int | float) and not isinstance(hit.score, bool) and math.isfinite(hit.score)
    return scored and all(type(text) is str for text in texts) and (record is None or type(record) is str)


__all__ = [
    "MAX_DOCUMENT_ID_CHARACTERS",
    "IndexHit",
    "KnowledgeDocument",
    "KnowledgeHit",
    "MetadataScalar",
    "is_wellformed",
]
