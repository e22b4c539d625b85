"""Filters of the host join those of a request: both must hold, and neither replaces the other."""

from collections.abc import Callable, Mapping
from typing import Any

from knowledge_provider import RetrievalContext, RetrievalRequest, UnsupportedFilters

OwnerFilters = Callable[[RetrievalContext], Mapping[str, Any]]
"""The host's rule from who asks to what may be found, in the filters of the system at hand."""


def filters_for(
    provider: str, request: RetrievalRequest, context: RetrievalContext, owner_filters: OwnerFilters | None
) -> list[Mapping[str, Any]]:
    """Return the filters that must all hold: the owner's first. Refuses an owner rule that names nothing.

    An empty answer of ``owner_filters`` is refused rather than read as "everything": a rule that forgot a case must
    not open the whole index.
    """
    found: list[Mapping[str, Any]] = []
    if owner_filters is not None:
        own = owner_filters(context)
        if not own:
            raise UnsupportedFilters(provider, "has no filter for this owner, and searching without one is not allowed")
        found.append(own)
    if request.filters:
        found.append(request.filters)
    return found


def joined(provider: str, filters: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Join flat filters by their keys; raises `UnsupportedFilters` when two of them say different things of one key."""
    conditions: dict[str, Any] = {}
    for part in filters:
        for key, value in part.items():
            if key in conditions and conditions[key] != value:
                raise UnsupportedFilters(provider, f"cannot join two conditions on {key!r}")
            conditions[key] = value
    return conditions


__all__ = ["OwnerFilters", "filters_for", "joined"]
