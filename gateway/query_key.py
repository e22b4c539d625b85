"""When two questions are the same question. Pure."""

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from knowledge_provider import RetrievalRequest

_SENTENCE_ENDS = " .?!。？！…"


def normalized_query(query: str) -> str:
    """Return the query without the differences that do not change it: width, case, spacing, final punctuation."""
    folded = " ".join(unicodedata.normalize("NFKC", query).casefold().split())
    return folded.rstrip(_SENTENCE_ENDS) or folded


class FlightKey(NamedTuple):
    """Everything that must be equal for two calls to share an answer."""

    owner_id: str
    provider: str
    knowledge_base_ids: tuple[str, ...]
    filters: Hashable
    top_k: int
    query: str


def flight_key(owner_id: str, provider: str, request: RetrievalRequest) -> FlightKey:
    """Return the key of a call: who asks, whom, and everything that was asked.

    Filters that cannot be compared make the key equal to no other.
    """
    bases = tuple(sorted(set(request.knowledge_base_ids)))
    filters = _comparable(request.filters)
    return FlightKey(owner_id, provider, bases, filters, request.top_k, normalized_query(request.query))


def _comparable(value: Any) -> Hashable:
    try:
        return _frozen(value)
    except (TypeError, RecursionError):
        return _Unique()


def _frozen(value: Any) -> Hashable:
    if value is None or isinstance(value, str | bool | int | float):
        return type(value).__name__, value  # the type as well, because 1 == 1.0 == True
    if isinstance(value, Mapping):
        return "mapping", frozenset((_frozen(key), _frozen(entry)) for key, entry in value.items())
    if isinstance(value, Sequence):
        return "sequence", tuple(_frozen(entry) for entry in value)
    raise TypeError(f"{type(value).__name__} cannot be compared")


class _Unique:
    """Equal to itself alone."""


__all__ = ["FlightKey", "flight_key", "normalized_query"]
