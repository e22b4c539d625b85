"""The interface of an index: a deliberately small one, and the system behind it may be any.

How an index cuts, embeds and ranks is its own affair. It never decides who may read: every proposal is checked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from .documents import IndexHit, KnowledgeDocument
from .errors import UnknownAdapter
from .sources import KnowledgeSource

ENTRY_POINT_GROUP = "earpiece.knowledge_indexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterContext:
    """Why an index is written: ``manual``, ``sync``, ``reindex``, ``reap`` or ``removal``."""

    source: KnowledgeSource
    reason: str
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSearch:
    """What an index is asked for. ``filter`` is a hint: the service applies it again to what comes back."""

    source: KnowledgeSource
    limit: int
    filter: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterHealth:
    ok: bool
    message: str = ""


@runtime_checkable
class KnowledgeAdapter(Protocol):
    """An index, as the service sees it. Failures are `IndexFailed`; a document that can never fit, `DocumentRefused`.

    An index that can list what it holds also has ``async list_document_ids(source, *, after, limit) -> list[str]``, in
    ascending order; reindexing then also removes what nobody knows any more and writes again what the index has lost.
    ``place_of(source) -> str`` names the part of ``adapterConfig`` that says where the documents lie, ``volatile`` true
    says that the index is empty at each start, and ``async close()`` ends it; all three are optional.
    """

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        """Hold these documents, each exactly once, replacing earlier ones of the same id. Repeating it is harmless."""
        ...

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        """At most ``options.limit`` proposals of this source, best first; fewer mean that there are no more."""
        ...

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        """Forget these documents. Returns only when they are gone; an unknown id is already gone."""
        ...

    async def health_check(self) -> AdapterHealth: ...


@runtime_checkable
class EnumeratingAdapter(Protocol):
    """An index that can say what it holds."""

    async def list_document_ids(self, source: KnowledgeSource, *, after: str = "", limit: int = 500) -> list[str]: ...


def adapter_from_plugin(name: str, options: Mapping[str, Any]) -> KnowledgeAdapter:
    """The index adapter that an installed package offers as ``name``. Raises `UnknownAdapter`."""
    offered = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in offered:
        raise UnknownAdapter(name, list(offered))
    adapter: KnowledgeAdapter = offered[name].load()(options)
    return adapter


__all__ = [
    "ENTRY_POINT_GROUP",
    "AdapterContext",
    "AdapterHealth",
    "AdapterSearch",
    "EnumeratingAdapter",
    "KnowledgeAdapter",
    "adapter_from_plugin",
]
