"""What becomes of the values in a result."""

import datetime
import uuid

import numpy as np
import pytest

from knowledge_provider import CitedResult, KnowledgeResult, Source
from tests.gateway.normalization.answers import hit, keeps_all_bounds, normalized, only, steady


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
