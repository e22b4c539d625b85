"""Whatever a provider answers becomes bounded results, or one typed error."""

import datetime
import itertools
import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.normalization import NormalizedResults, candidate_bound, normalize
from knowledge_provider import CitedResult, InvalidRetrievalResult, KnowledgeResponse, KnowledgeResult, Source


def steady(value: object) -> str:
    """A test id that is the same in every process: no addresses, nothing long."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "huge"
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text[:60]


def hit(id: object = "a", content: object = "Text.", **fields: object) -> dict[str, Any]:
    return {"id": id, "content": content, **fields}


def normalized(*hits: object, top_k: int = 8) -> NormalizedResults:
    return normalize(list(hits), provider="p", top_k=top_k)


def only(**fields: object) -> KnowledgeResult:
    return normalized(hit(**fields)).results[0]


def keeps_all_bounds(outcome: NormalizedResults, top_k: int) -> bool:
    return len(outcome.results) <= top_k and all(
        0 < len(result.id) <= 160
        and 0 < len(result.content) <= 4_000
        and (result.score is None or math.isfinite(result.score))
        and len(result.source.id or "") <= 120
        and len(result.source.title or "") <= 300
        and len(result.source.mime_type or "") <= 120
        and len(result.source.locator or "") <= 300
        and len(result.source.uri or "") <= 2_048
        and len(result.metadata) <= 16
        and all(len(key) <= 80 and len(str(value)) <= 500 for key, value in result.metadata.items())
        for result in outcome.results
    )


# Shapes


@pytest.mark.parametrize(
    "answer",
    [
        [hit()],
        (hit(),),
        iter([hit()]),
        {"results": [hit()]},
        {"results": (hit(),), "took": 3},
        [KnowledgeResult(id="a", content="Text.")],
        [CitedResult(id="a", content="Text.", citation="source_9")],
        KnowledgeResponse(status="ok", query="q", results=(CitedResult(id="a", content="Text."),)),
    ],
    ids=["list", "tuple", "iterator", "object", "object with more", "our model", "cited", "response"],
)
def test_every_shape_of_the_contract_is_read(answer: object) -> None:
    """A list, an object with results, or our models: all give the same result."""
    assert normalize(answer, provider="p", top_k=5).results == (KnowledgeResult(id="a", content="Text."),)


async def _async_hits() -> Any:
    yield hit()


@pytest.mark.parametrize(
    "answer",
    [
        None, 0, 7.5, True, "text", b"bytes", bytearray(b"x"), {}, {"result": []}, {"results": None},
        {"results": "text"}, {"results": {"results": []}}, object(), KnowledgeResult(id="a", content="b"), Source(),
        _async_hits(), [1, 2], ["text"], [None], [[hit()]], {"results": [3]}, np.arange(3), lambda: None,
    ],
    ids=steady,
)  # fmt: skip
def test_anything_else_is_a_typed_error(answer: object) -> None:
    """A wrong answer is `knowledge_bad_response` with the provider's name, never a crash."""
    with pytest.raises(InvalidRetrievalResult, match="'p'") as caught:
        normalize(answer, provider="p", top_k=5)
    assert caught.value.code == "knowledge_bad_response"


def test_a_stray_item_does_not_cost_the_good_ones() -> None:
    """One wrong item among results is left out; only an answer of nothing else is an error."""
    assert [result.id for result in normalized(None, hit(), "text").results] == ["a"]


def test_an_empty_answer_is_no_error() -> None:
    """Nothing found is a normal answer."""
    assert normalized() == NormalizedResults((), frozenset(), 0)


def test_both_spellings_of_a_field_are_read() -> None:
    """`mimeType` of the wire and `mime_type` of Python mean the same."""
    assert only(source={"mimeType": "text/html"}).source.mime_type == "text/html"
    assert only(source={"mime_type": "text/html"}).source.mime_type == "text/html"
    assert only(source=Source(mime_type="text/html")).source.mime_type == "text/html"


# Which results stay


@pytest.mark.parametrize("wrong", ["", "  \n\u3000", "\u200b\u2060", None, 0.5, b"x", [], {}, True], ids=steady)
def test_an_empty_id_or_content_drops_a_result(wrong: object) -> None:
    """What has no name or says nothing is no result."""
    outcome = normalized(hit(id=wrong), hit(content=wrong, id="b"), hit(id="c"))
    assert [result.id for result in outcome.results] == ["c"]


def test_a_missing_id_is_made_from_the_source() -> None:
    """`sourceId:n`, where n is the place in the answer."""
    outcome = normalized(
        hit(), {"content": "Text.", "source": {"id": "doc"}}, {"content": "Text.", "source": {"id": "doc"}}
    )
    assert [result.id for result in outcome.results] == ["a", "doc:2", "doc:3"]


@pytest.mark.parametrize(
    ("id", "kept"),
    [(7, "7"), (np.int64(7), "7"), (7.0, None), (True, None), (2**80, None), (" a\n b ", "a b")],
    ids=steady,
)
def test_an_id_is_text_or_a_whole_number(id: object, kept: str | None) -> None:
    """Databases number their rows; other types are no ids."""
    outcome = normalized(hit(id=id))
    assert [result.id for result in outcome.results] == ([kept] if kept else [])


def test_the_first_of_equal_ids_stays_and_order_is_kept() -> None:
    """The provider ranked them; the gateway does not rank again."""
    outcome = normalized(hit("b", "1"), hit("a", "2"), hit("b", "3"), hit("a\u200b", "4"), hit("c", "5"))
    assert [(result.id, result.content) for result in outcome.results] == [("b", "1"), ("a", "2"), ("c", "5")]


def test_two_long_ids_that_begin_alike_stay_two() -> None:
    """A bounded id still tells results apart."""
    outcome = normalized(hit("x" * 500 + "1"), hit("x" * 500 + "2"))
    assert len({result.id for result in outcome.results}) == 2
    assert keeps_all_bounds(outcome, 8)


@pytest.mark.parametrize("top_k", range(1, 9))
def test_never_more_than_top_k_and_the_rest_is_counted(top_k: int) -> None:
    """What is left out is disclosed as a number, duplicates and empties not counted."""
    outcome = normalized(*(hit(f"r{n}") for n in range(8)), hit("r0"), hit(""), top_k=top_k)
    assert len(outcome.results) == top_k
    assert outcome.more == 8 - top_k


@pytest.mark.parametrize(("top_k", "bound"), [(1, 8), (2, 16), (5, 40), (8, 64), (100, 64), (-1, 8)])
def test_only_so_many_candidates_are_looked_at(top_k: int, bound: int) -> None:
    """Ten million results cost as much as sixty-four, and one that never ends is left."""
    taken = itertools.count()
    assert candidate_bound(top_k) == bound

    def endless() -> Iterator[dict[str, Any]]:
        for _ in taken:
            yield hit("same")

    assert len(normalize(endless(), provider="p", top_k=top_k).results) == 1
    assert next(taken) == bound


def test_a_result_behind_the_bound_is_not_found() -> None:
    """The bound is on what is looked at, not only on what is kept."""
    million = ({"id": "", "content": ""} if n < 64 else hit() for n in range(10_000_000))
    assert normalize(million, provider="p", top_k=8).results == ()


def test_a_generator_left_early_is_closed() -> None:
    """Its `finally` runs at once, so that a cursor behind it is given back."""
    closed: list[bool] = []

    def rows() -> Iterator[dict[str, Any]]:
        try:
            yield from (hit(str(n)) for n in itertools.count())
        finally:
            closed.append(True)

    answer = rows()
    normalize(answer, provider="p", top_k=1)
    assert closed == [True]


# Values


@pytest.mark.parametrize(
    ("score", "kept"),
    [
        (0.5, 0.5), (1, 1.0), (-2.5, -2.5), (0, 0.0), (np.float32(0.5), 0.5), (np.float64(0.5), 0.5),
        (np.int64(3), 3.0), (np.array(0.25), 0.25), (float("nan"), None), (float("inf"), None),
        (float("-inf"), None), (np.float32("nan"), None), (True, None), (np.bool_(True), None), ("0.9", None),
        (None, None), (10**400, None), (1j, None), ([0.5], None), (b"1", None), (np.array([0.1, 0.2]), None),
    ],
    ids=steady,
)  # fmt: skip
def test_a_score_is_a_finite_number_or_absent(score: object, kept: float | None) -> None:
    """Numbers of array libraries count; what is no number is not made into one."""
    assert only(score=score).score == kept


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("text", "text"), (True, True), (False, False), (3, 3), (2.5, 2.5), (np.int32(4), 4),
        (np.float32(0.5), 0.5), ("x" * 900, "x" * 500), ("a\u202eb", "ab"), ("", None), ({"a": 1}, None), ([1], None),
        (b"bytes", None), (None, None), (datetime.date(2026, 1, 1), None), (uuid.UUID(int=1), None), (10**30, None),
        (10**5000, None), (float("nan"), None), (float("inf"), None), (object(), None), (np.array([1, 2]), None),
    ],
    ids=steady,
)  # fmt: skip
def test_metadata_holds_text_booleans_and_finite_numbers(value: object, kept: object) -> None:
    """Nested objects, dates, bytes and huge integers are left out, whatever stands beside them stays."""
    metadata = only(metadata={"k": value, "page": 3}).metadata
    assert metadata == ({"page": 3} if kept is None else {"k": kept, "page": 3})


def test_metadata_has_at_most_sixteen_keys_of_eighty_characters() -> None:
    """A hundred thousand keys are not walked through."""
    metadata = only(metadata={f"{n:06}" + "k" * 200: n for n in range(100_000)}).metadata
    assert len(metadata) == 16
    assert {len(key) for key in metadata} == {80}
    assert only(metadata={1: "x", None: "y", "": "z", "ok": 1}).metadata == {"ok": 1}
    assert only(metadata=[("a", 1)]).metadata == {}


def test_long_texts_are_cut_and_disclosed() -> None:
    """Content, title and locator keep their bounds; the ids of what lost text are told."""
    outcome = normalized(
        hit("content", "word " * 2_000),
        hit("title", source={"title": "t" * 400}),
        hit("locator", source={"locator": "l" * 400}),
        hit("whole", "x" * 4_000, source={"title": "t" * 300}),
    )
    assert outcome.truncated_ids == {"content", "title", "locator"}
    assert keeps_all_bounds(outcome, 8)
    assert outcome.results[0].content.endswith("word")


def test_what_a_provider_says_it_cut_stays_disclosed() -> None:
    """A result that was cut before it came here is not passed off as whole."""
    assert normalized(CitedResult(id="a", content="b", truncated=True)).truncated_ids == {"a"}


def test_a_hundred_megabytes_cost_no_more_than_a_page() -> None:
    """Only the beginning of a text is read."""
    outcome = normalized(*(hit(str(n), "é" * 50_000_000) for n in range(2)), hit("z", "\u200b" * 50_000_000))
    assert [len(result.content) for result in outcome.results] == [4_000, 4_000]
    assert outcome.truncated_ids == {"0", "1"}


def test_every_text_is_cleaned() -> None:
    """Overrides, tags, zero-width and lone surrogates are gone from every field."""
    dirty = "a\u202e\U000e0041\u200b\ud800\x00b"
    result = only(
        id=dirty,
        content=dirty,
        source={"id": dirty, "title": dirty, "mimeType": dirty, "locator": dirty},
        metadata={dirty: dirty},
    )
    assert result == KnowledgeResult(
        id="ab", content="ab", source=Source(id="ab", title="ab", mime_type="ab", locator="ab"), metadata={"ab": "ab"}
    )


def test_a_cut_does_not_fall_inside_an_emoji() -> None:
    """Four families of which the last does not fit are three families."""
    family = "👨\u200d👩\u200d👧\u200d👦"
    assert set(only(content=family * 1_000).content.split(family)) == {""}
    assert set(only(content="\u200b" * 5_000 + family * 1_000).content.split(family)) == {""}


def test_a_private_uri_is_dropped_and_a_public_one_is_kept() -> None:
    """The host of the gateway, too, gets only what may be shown."""
    assert only(source={"uri": "http://10.0.0.1/x"}).source.uri is None
    assert only(source={"uri": 7}).source.uri is None
    assert only(source={"uri": "https://example.com/a#b"}).source.uri == "https://example.com/a"


# Hostile objects


class _Raises(Exception):
    pass


class _HostileDict(dict[str, Any]):
    def get(self, *arguments: Any) -> Any:
        raise _Raises


class _HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise _Raises

    def __iter__(self) -> Iterator[str]:
        raise _Raises

    def __len__(self) -> int:
        raise _Raises


class _HostileIterable:
    def __iter__(self) -> Iterator[object]:
        raise _Raises


class _HostileModel(KnowledgeResult):
    @property
    def truncated(self) -> bool:
        raise _Raises


class _PretendsToBeText:
    __class__ = str  # type: ignore[assignment]


class _HostileText(str):
    def __len__(self) -> int:
        raise _Raises

    def strip(self, *arguments: Any) -> str:
        raise _Raises


class _HostileScore:
    def item(self) -> float:
        raise _Raises


class _Exits:
    def item(self) -> float:
        raise SystemExit(3)


def _raises_later() -> Iterator[dict[str, Any]]:
    yield hit()
    raise _Raises


def _refuses_to_close() -> Iterator[dict[str, Any]]:
    try:
        yield from (hit(str(n)) for n in itertools.count())
    except GeneratorExit:
        yield hit()


@pytest.mark.parametrize(
    "answer",
    [
        _HostileMapping(), {"results": _HostileMapping()}, _HostileIterable(), {"results": _HostileIterable()},
        [_HostileDict()], [_HostileMapping()], [_HostileModel(id="a", content="b")], [hit(id=_PretendsToBeText())],
        [hit(score=_HostileScore())], [hit(score=_Exits())], [hit(metadata=_HostileMapping())],
        [hit(metadata={"k": _HostileScore()})], [hit(source=_HostileDict())], _raises_later(),
    ],
    ids=lambda answer: type(answer).__name__,
)  # fmt: skip
def test_an_object_that_raises_when_it_is_read_is_a_typed_error(answer: object) -> None:
    """Foreign code runs when foreign objects are read; its errors stay behind the cause."""
    with pytest.raises(InvalidRetrievalResult) as caught:
        normalize(answer, provider="p", top_k=5)
    assert "_Raises" not in str(caught.value)


def test_a_generator_that_refuses_to_close_is_a_typed_error() -> None:
    """It cannot hold the gateway."""
    with pytest.raises(InvalidRetrievalResult):
        normalize(_refuses_to_close(), provider="p", top_k=5)


def test_a_text_with_methods_of_its_own_becomes_plain_text() -> None:
    """Nothing of a foreign class travels on."""
    result = only(content=_HostileText("Text."))
    assert type(result.content) is str
    assert result.content == "Text."


def test_a_structure_that_holds_itself_is_no_trouble() -> None:
    """Nothing is walked deeper than the contract goes."""
    loop: dict[str, Any] = hit()
    loop["metadata"] = loop
    loop["source"] = loop
    assert normalized(loop, [loop]).results[0].metadata == {"id": "a", "content": "Text."}


def test_a_user_interrupt_is_not_swallowed() -> None:
    """Ctrl-C is nobody's bad answer."""

    def interrupted() -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        normalize(interrupted(), provider="p", top_k=5)


# Properties

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=5)
JSON_LIKE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)
LONG_TEXTS = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 30, 300]))
SOURCES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "title", "uri", "mimeType", "mime_type", "locator"), LONG_TEXTS | LEAVES)
)
HITS = st.fixed_dictionaries(
    {},
    optional={
        "id": LONG_TEXTS | st.sampled_from("abc"),
        "content": LONG_TEXTS | st.just("Text."),
        "score": LEAVES,
        "source": SOURCES | JSON_LIKE,
        "metadata": st.dictionaries(TEXTS, JSON_LIKE) | JSON_LIKE,
        "truncated": LEAVES,
    },
)
ANSWERS = (
    JSON_LIKE
    | st.lists(HITS | JSON_LIKE, max_size=12)
    | st.builds(lambda hits: {"results": hits}, st.lists(HITS, max_size=12))
)


@settings(max_examples=300)
@given(ANSWERS, st.integers(1, 8))
def test_any_answer_gives_bounded_results_or_the_typed_error(answer: object, top_k: int) -> None:
    """All bounds hold for every JSON-like value, and normalizing twice changes nothing."""
    try:
        outcome = normalize(answer, provider="p", top_k=top_k)
    except InvalidRetrievalResult:
        return
    assert keeps_all_bounds(outcome, top_k)
    again = normalize(list(outcome.results), provider="p", top_k=top_k)
    assert again == NormalizedResults(outcome.results, frozenset(), 0)
    as_wire = [result.model_dump(by_alias=True) for result in outcome.results]
    assert normalize({"results": as_wire}, provider="p", top_k=top_k) == again
