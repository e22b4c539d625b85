"""What a host hands over becomes a request and a context within the contract, or a typed refusal.

Hosts are programs of other people, often without types: a wrong kind of value is refused by name, never guessed at.
"""

import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from knowledge_provider import (
    MAX_KNOWLEDGE_BASE_IDS,
    MAX_QUERY_CHARACTERS,
    InvalidRetrievalRequest,
    ProviderDescription,
    QueryRequired,
    RetrievalContext,
    RetrievalRequest,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)

from .text import clean_text


def checked_request(query: object, knowledge_base_ids: object, filters: object, top_k: object) -> RetrievalRequest:
    """Return what is asked. Raises `InvalidRetrievalRequest`, of which `QueryRequired` is one."""
    fields = {
        "query": _query(query),
        "knowledge_base_ids": _knowledge_base_ids(knowledge_base_ids),
        "filters": _filters(filters),
        "top_k": top_k,
    }
    try:
        return RetrievalRequest.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = "".join(str(part) for part in first["loc"][:1])
        raise InvalidRetrievalRequest(f"The request has a wrong {field}: {first['msg']}.") from error


def checked_context(owner_id: str, session_id: str, turn_id: str, trace_id: str, *, seconds: float) -> RetrievalContext:
    """Return who asks, and until when: ``seconds`` from now. Raises `OwnerRequired` or `InvalidRetrievalRequest`."""
    for name, value in (("session_id", session_id), ("turn_id", turn_id), ("trace_id", trace_id)):
        if not isinstance(value, str):
            raise InvalidRetrievalRequest(f"The {name} is no text. Send a text, or leave it out.")
    return RetrievalContext(
        owner_id=owner_id,
        session_id=session_id,
        turn_id=turn_id,
        trace_id=trace_id,
        deadline=time.monotonic() + seconds,
    )


def check_against(description: ProviderDescription, request: RetrievalRequest) -> None:
    """Refuse what this provider cannot do. Raises `UnsupportedFilters` or `UnknownKnowledgeBase`."""
    if request.filters and not description.capabilities.get("filters"):
        raise UnsupportedFilters(description.key)
    if description.knowledge_bases is not None:
        known = {base.id for base in description.knowledge_bases}
        if unknown := [name for name in request.knowledge_base_ids if name not in known]:
            raise UnknownKnowledgeBase(unknown)


def _query(value: object) -> str:
    if value is None:
        raise QueryRequired
    if not isinstance(value, str):
        raise InvalidRetrievalRequest("The query is no text. Send the question as text.")
    query = clean_text(value).strip()
    if not query:
        raise QueryRequired
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidRetrievalRequest(f"The query has more than {MAX_QUERY_CHARACTERS} characters. Send a shorter one.")
    return query


def _knowledge_base_ids(value: object) -> tuple[object, ...]:
    # A text would be split into its letters, and a mapping into its keys.
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | bytearray | Mapping):
        raise InvalidRetrievalRequest("The knowledge_base_ids are no list of ids. Send a list, or leave them out.")
    return tuple(islice(value, MAX_KNOWLEDGE_BASE_IDS + 1))


def _filters(value: object) -> dict[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRetrievalRequest(
            "The filters are no mapping. Send a mapping of names to values, or leave them out."
        )
    return dict(value)


__all__ = ["check_against", "checked_context", "checked_request"]
