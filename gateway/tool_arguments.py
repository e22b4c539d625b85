"""What a model wrote as arguments becomes what it may propose. Pure.

Arguments arrive broken in practice. What can be read with certainty is read; the rest is refused with one sentence on
what to send, and is never run as an empty query. Anything beyond query, top_k and disclosed knowledge bases is ignored:
a model names no owner, no filter, no session.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
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
_CONTRADICTION = object()
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
    query, top_k = _said(fields, "query"), _said(fields, "top_k", "topK")
    bases = _said(fields, "knowledge_base_ids", "knowledgeBaseIds")
    return Proposal(_query(query), _top_k(top_k), _knowledge_base_ids(bases, disclosed))


def _fields(arguments: object) -> Mapping[Any, Any]:
    fields = _decoded(arguments)
    wrapped = fields.get("arguments")
    if not isinstance(wrapped, str | Mapping):
        return fields
    if "query" not in fields:
        return _decoded(wrapped)
    return {**fields, "query": _one_of([fields["query"], *_wrapped_query(wrapped)])}


def _wrapped_query(wrapped: object) -> list[Any]:
    try:
        inner = _decoded(wrapped)
    except UnreadableArguments:
        return []  # not a wrapper, but one of the keys that are ignored
    return [inner["query"]] if "query" in inner else []


def _said(fields: Mapping[Any, Any], *spellings: str) -> Any:
    """The one value given under these spellings, or None. Raises `UnreadableArguments` when there are two."""
    value = _one_of([fields[name] for name in spellings if name in fields])
    if value is _CONTRADICTION:
        raise UnreadableArguments(f"The {spellings[0]} is given twice, with different values. Send one of them.")
    return value


def _one_of(values: Sequence[Any]) -> Any:
    if len(values) > 1 and len({repr(value) for value in values}) > 1:  # their text, because 1 == True
        return _CONTRADICTION
    return values[0] if values else None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; where one name has several values, that is remembered instead of the last of them."""
    said: dict[str, list[Any]] = {}
    for name, value in pairs:
        said.setdefault(name, []).append(value)
    return {name: _one_of(values) for name, values in said.items()}


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
            return json.loads(candidate, object_pairs_hook=_object)
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
