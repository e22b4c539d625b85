"""Which results stay: in the provider's order, once each, and only so many."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gateway.normalization import candidate_bound, normalize
from tests.gateway.normalization.answers import hit, keeps_all_bounds, normalized, steady


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
