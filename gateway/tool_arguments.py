"""What a model wrote as arguments becomes what it may propose. Pure.

Arguments arrive broken in practice. What can be read with certainty is read; the rest is refused with one sentence on
what to send, and is never run as an empty query. Anything beyond query, top_k and disclosed knowledge bases is ignored:
a model names no owner, no filter, no session.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from knowledge_provider import DEFAULT_TOP_K, MAX_KNOWLEDGE_BASE_IDS, MAX_QUERY_CHARACTERS, MAX_TOP_K

from .text import clean_text

MAX_ARGUMENT_CHARACTERS = 20_000
_EXAMPLE = 'Send a JSON object such as {"query": "the question in a few words"}.'

# Marks of chat templates that leak around or into the JSON, as in {"query": "release"}<|im_end|>
_TOKEN = r"(?:<\|[^|<>{}]{1,40}\|>|</?tool_call>|</?s>|```(?:json)?)"  # noqa: S105 - no secret
_LEADING = re.compile(rf"^(?:\s|{_TOKEN})+")
_TRAILING = re.compile(rf"(?:\s|{_TOKEN})+$")
_QUOTE_TOKEN = '<|"|>'  # noqa: S105 - what one family of models writes for a quotation mark


class UnreadableArguments(Exception):
    """Raised when it is not certain what was asked; the message is one sentence for the model."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the model proposes, within the bounds."""

    query: str
    top_k: int = DEFAULT_TOP_K
    knowledge_base_ids: tuple[str, ...] = ()


def proposal_from(arguments: object, disclosed: Collection[str]) -> Proposal:
    """Read a model's arguments. Raises `UnreadableArguments`."""
    fields = _fields(arguments)
    top_k = fields.get("top_k", fields.get("topK"))
    bases = fields.get("knowledge_base_ids", fields.get("knowledgeBaseIds"))
    return Proposal(_query(fields.get("query")), _top_k(top_k), _knowledge_base_ids(bases, disclosed))


def _fields(arguments: object) -> Mapping[Any, Any]:
    fields = _decoded(arguments)
    if "query" not in fields and isinstance(fields.get("arguments"), str | Mapping):
        return _decoded(fields["arguments"])
    return fields


def _decoded(value: object) -> Mapping[Any, Any]:
    for _ in range(3):  # a text, a text in a text, and the object
        if isinstance(value, Mapping):
            return value
        if not isinstance(value, str):
            break
        value = _parsed(value)
    if isinstance(value, Mapping):
        return value
    raise UnreadableArguments(f"The arguments are no JSON object. {_EXAMPLE}")


def _parsed(text: str) -> object:
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        raise UnreadableArguments(f"The arguments are too long. {_EXAMPLE}")
    bare = _without_tokens(text)
    for candidate in dict.fromkeys((text, bare, bare.replace(_QUOTE_TOKEN, '"'))):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    raise UnreadableArguments(f"The arguments are not complete JSON. {_EXAMPLE}")


def _without_tokens(text: str) -> str:
    return _TRAILING.sub("", _LEADING.sub("", text))


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise UnreadableArguments(f"The query is missing or is no text. {_EXAMPLE}")
    if len(value) > MAX_ARGUMENT_CHARACTERS:
        raise UnreadableArguments(f"The query is too long. Send at most {MAX_QUERY_CHARACTERS} characters.")
    query = clean_text(_without_tokens(value)).strip()
    if not query:
        raise UnreadableArguments(f"The query is empty. {_EXAMPLE}")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise UnreadableArguments(f"The query is too long. Send at most {MAX_QUERY_CHARACTERS} characters.")
    return query


def _top_k(value: object) -> int:
    if value is None:
        return DEFAULT_TOP_K
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,4}\s*", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnreadableArguments(f"The top_k is no whole number. Send 1 to {MAX_TOP_K}, or leave it out.")
    return max(1, min(MAX_TOP_K, value))


def _knowledge_base_ids(value: object, disclosed: Collection[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _listed(value)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise UnreadableArguments("The knowledge_base_ids are no list of ids. Send a list, or leave them out.")
    names = tuple(dict.fromkeys(value))
    if any(name not in disclosed for name in names):
        allowed = "Use ids of the tool's schema, or leave them out." if disclosed else "Leave them out."
        raise UnreadableArguments(f"The knowledge_base_ids hold an unknown id. {allowed}")
    if len(names) > MAX_KNOWLEDGE_BASE_IDS:
        raise UnreadableArguments(f"There are too many knowledge_base_ids. Send at most {MAX_KNOWLEDGE_BASE_IDS}.")
    return names


def _listed(text: str) -> object:
    text = _without_tokens(text)
    if not text:
        return None
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return [text]
    return [text]


__all__ = ["MAX_ARGUMENT_CHARACTERS", "Proposal", "UnreadableArguments", "proposal_from"]
