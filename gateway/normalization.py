"""Pure: whatever a provider answered becomes a few bounded, cleaned, deduplicated results.

The answer is foreign: it may be endless, hostile or nonsense. It costs what the bounds allow and raises one error.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import GeneratorType
from typing import Any

from pydantic import BaseModel

from knowledge_provider import (
    MAX_TOP_K,
    InvalidRetrievalResult,
    KnowledgeResponse,
    KnowledgeResult,
    MetadataValue,
    Source,
)

from .citations import public_uri
from .text import clean_text, cut_text

MAX_ID_CHARACTERS = 160
MAX_SOURCE_ID_CHARACTERS = 120
MAX_TITLE_CHARACTERS = 300
MAX_MIME_TYPE_CHARACTERS = 120
MAX_LOCATOR_CHARACTERS = 300
MAX_CONTENT_CHARACTERS = 4_000
MAX_METADATA_KEYS = 16
MAX_METADATA_KEY_CHARACTERS = 80
MAX_METADATA_CHARACTERS = 500
MAX_URI_CHARACTERS = 2_048

_MAX_CANDIDATES = 64
_MAX_METADATA_LOOKED_AT = 64
_MAX_INTEGER = 2**63 - 1
# Hidden characters may fill the beginning of a text, so more of it is read than is kept; never all of it.
_READ_AHEAD = 2
_MAX_ID_LOOKED_AT = 4_096
_DIGEST_CHARACTERS = 16
_MAX_PARTS = 8
_MAX_PART_CHARACTERS = 60

_Reader = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class NormalizedResults:
    """At most ``top_k`` results, the ids of those that lost text, and how many usable ones were left out.

    ``partial`` names the parts of a composed provider that did not answer.
    """

    results: tuple[KnowledgeResult, ...]
    truncated_ids: frozenset[str] = frozenset()
    more: int = 0
    partial: tuple[str, ...] = ()


def normalize(raw: object, *, provider: str, top_k: int) -> NormalizedResults:
    """Bound, clean and deduplicate what ``provider`` answered; the order stays.

    Raises `InvalidRetrievalResult`, and nothing else, when the answer is not a list of results or cannot be read.
    """
    try:
        found = _Collector(top_k).collect(_candidates(raw, provider, candidate_bound(top_k)), provider)
        return replace(found, partial=_missing_parts(raw))
    except (InvalidRetrievalResult, KeyboardInterrupt):
        raise
    except BaseException as error:  # properties and iterators of foreign objects may raise anything
        raise InvalidRetrievalResult(provider, "results that raise when they are read") from error


def _missing_parts(raw: object) -> tuple[str, ...]:
    names = raw.get("partial") if isinstance(raw, Mapping) else getattr(raw, "partial", None)
    if not isinstance(names, list | tuple):
        return ()
    read = (_text(name, _MAX_PART_CHARACTERS)[0] for name in islice(names, _MAX_PARTS))
    return tuple(dict.fromkeys(name for name in read if name))


def candidate_bound(top_k: int) -> int:
    """How many raw results are looked at, at most, to find ``top_k`` usable ones."""
    return max(MAX_TOP_K, min(_MAX_CANDIDATES, 8 * top_k))


def _candidates(raw: object, provider: str, bound: int) -> Iterator[object]:
    """At most ``bound`` items of the answer, whatever its length."""
    if isinstance(raw, Mapping):
        if "results" not in raw:
            raise InvalidRetrievalResult(provider, "an object without 'results'")
        raw = raw["results"]
    elif isinstance(raw, KnowledgeResponse):
        raw = raw.results
    if not isinstance(raw, Iterable) or isinstance(raw, str | bytes | bytearray | memoryview | Mapping | BaseModel):
        raise InvalidRetrievalResult(provider, _kind_of(raw))
    yield from islice(raw, bound)
    if isinstance(raw, GeneratorType):
        raw.close()


def _kind_of(raw: object) -> str:
    name = clean_text(type(raw).__name__)
    return "nothing" if raw is None else f"a value of type {cut_text(name, 60)[0]!r}"


class _Collector:
    """Gathers the results of one answer: the first of equal ids stays, what comes after ``top_k`` is counted."""

    def __init__(self, top_k: int) -> None:
        self._top_k = max(1, min(top_k, MAX_TOP_K))
        self._seen: set[str] = set()
        self._results: list[KnowledgeResult] = []
        self._truncated: set[str] = set()
        self._more = 0

    def collect(self, candidates: Iterator[object], provider: str) -> NormalizedResults:
        strangers = 0
        for position, candidate in enumerate(candidates, start=1):
            if (read := _reader(candidate, KnowledgeResult)) is None:
                strangers += 1
            else:
                self._add(read, position)
        if strangers and not self._seen:
            raise InvalidRetrievalResult(provider, "items that are not results")
        return NormalizedResults(tuple(self._results), frozenset(self._truncated), self._more)

    def _add(self, read: _Reader, position: int) -> None:
        source = _reader(read("source"), Source) or _nothing
        source_id = _identifier(source("id"), MAX_SOURCE_ID_CHARACTERS)
        result_id = _identifier(read("id"), MAX_ID_CHARACTERS) or (f"{source_id}:{position}" if source_id else None)
        content, was_cut = _text(read("content"), MAX_CONTENT_CHARACTERS)
        if not result_id or not content or result_id in self._seen:
            return
        self._seen.add(result_id)
        if len(self._results) == self._top_k:
            self._more += 1
            return
        where, source_was_cut = _source(source, source_id)
        self._results.append(
            KnowledgeResult(
                id=result_id,
                content=content,
                score=_score(read("score")),
                source=where,
                metadata=_metadata(read("metadata")),
            )
        )
        if was_cut or source_was_cut or read("truncated") is True:
            self._truncated.add(result_id)


def _nothing(name: str) -> None:
    return None


def _reader(value: object, model: type[BaseModel]) -> _Reader | None:
    """Read fields by their Python name from one of our models or from a mapping in either spelling."""
    if isinstance(value, model):
        return lambda name: getattr(value, name, None)
    if isinstance(value, Mapping):
        return lambda name: value.get(name)
    return None


def _source(read: _Reader, source_id: str | None) -> tuple[Source, bool]:
    title, title_was_cut = _text(read("title"), MAX_TITLE_CHARACTERS)
    locator, locator_was_cut = _text(read("locator"), MAX_LOCATOR_CHARACTERS)
    mime_type = read("mime_type")
    source = Source(
        id=source_id,
        title=title,
        uri=_uri(read("uri")),
        mime_type=_text(mime_type if mime_type is not None else read("mimeType"), MAX_MIME_TYPE_CHARACTERS)[0],
        locator=locator,
    )
    return source, title_was_cut or locator_was_cut


def _text(value: object, limit: int) -> tuple[str | None, bool]:
    """Cleaned text within ``limit`` and whether it was cut; ``None`` when there is nothing to read."""
    if not isinstance(value, str):
        return None, False
    opening = str.__getitem__(value, slice(limit * _READ_AHEAD))
    text, goes_on = clean_text(opening).strip(), str.__len__(value) > len(opening)
    # What was not read may belong to the last character, so that one is not trusted to be whole.
    text, was_cut = cut_text(text, min(limit, max(0, len(text) - goes_on)))
    return text or None, was_cut or goes_on


def _identifier(value: object, limit: int) -> str | None:
    """An id within ``limit``. A longer one ends in a digest, so that two long ids stay two."""
    if not isinstance(value, str):
        number = _number(value)
        return str(number) if isinstance(number, int) else None
    opening = str.__getitem__(value, slice(_MAX_ID_LOOKED_AT))
    text = " ".join(clean_text(opening).split())
    if len(text) <= limit:
        return text or None
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{cut_text(text, limit - _DIGEST_CHARACTERS - 1)[0]}~{digest}"


def _uri(value: object) -> str | None:
    if not isinstance(value, str) or str.__len__(value) > MAX_URI_CHARACTERS:
        return None
    return public_uri(str.__getitem__(value, slice(None)))


def _number(value: object) -> int | float | None:
    """A finite number, also out of an array library's scalar, which has ``item()``."""
    if not isinstance(value, int | float) and callable(item := getattr(value, "item", None)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):  # an array of several numbers
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return int(value) if abs(value) <= _MAX_INTEGER else None
    return float(value) if math.isfinite(value) else None


def _score(value: object) -> float | None:
    number = _number(value)
    return None if number is None else float(number)


def _metadata(value: object) -> dict[str, MetadataValue]:
    if not isinstance(value, Mapping):
        return {}
    kept: dict[str, MetadataValue] = {}
    for key, item in islice(value.items(), _MAX_METADATA_LOOKED_AT):
        name, plain = _text(key, MAX_METADATA_KEY_CHARACTERS)[0], _metadata_value(item)
        if name and plain is not None:
            kept.setdefault(name, plain)
        if len(kept) == MAX_METADATA_KEYS:
            break
    return kept


def _metadata_value(value: object) -> MetadataValue | None:
    if isinstance(value, str):
        return _text(value, MAX_METADATA_CHARACTERS)[0]
    if isinstance(value, bool):
        return value
    return _number(value)


__all__ = ["NormalizedResults", "candidate_bound", "normalize"]
