"""Which stores of a system a call may search: the host's list, narrowed by what was asked for, never widened."""

from collections.abc import Callable, Mapping, Sequence

from knowledge_provider import KnowledgeNotFound, RetrievalContext, RetrievalRequest

Stores = Mapping[str, str] | Sequence[str]
"""Ids in the vendor's system; a mapping gives them names of the host's, which are disclosed as knowledge bases."""

ScopedStores = Stores | Callable[[RetrievalContext], Stores]
"""The same for everybody, or by who asks."""


def check_stores(stores: ScopedStores, what: str) -> None:
    """Raise TypeError or ValueError when no store could ever be searched."""
    if isinstance(stores, str):
        raise TypeError(f"{what} must be a list or a mapping of ids, not one text")
    if not callable(stores) and (not stores or not all(_ids(stores))):
        raise ValueError(f"{what} names no id; without one everything, or nothing, would be searched")


def disclosed(stores: ScopedStores) -> tuple[str, ...]:
    """The names that a model may choose from: those of a fixed mapping, else none."""
    return tuple(stores) if isinstance(stores, Mapping) else ()


def stores_for(provider: str, stores: ScopedStores, request: RetrievalRequest, context: RetrievalContext) -> list[str]:
    """Return the ids to search for this call; raises `KnowledgeNotFound` when none is left."""
    allowed = stores(context) if callable(stores) else stores
    if request.knowledge_base_ids and isinstance(allowed, Mapping):
        found = [allowed[name] for name in request.knowledge_base_ids if name in allowed]
    elif request.knowledge_base_ids:
        found = []
    else:
        found = list(_ids(allowed))
    if not found:
        raise KnowledgeNotFound(provider, "has no collection for this request and this owner")
    return list(dict.fromkeys(found))


def _ids(stores: Stores) -> Sequence[str]:
    return list(stores.values()) if isinstance(stores, Mapping) else stores


__all__ = ["ScopedStores", "Stores", "check_stores", "disclosed", "stores_for"]
