"""Conditions as plain data: strict about types, refused early when wrong."""

import pytest

from knowledge_service import InvalidWhere
from knowledge_service.where import check_where, fields_of, matches


@pytest.mark.parametrize(
    ("where", "row", "expected"),
    [
        ({}, {}, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": None}, {}, True),
        ({"a": {"$ne": 1}}, {"a": None}, True),
        ({"a": {"$gt": 1, "$lt": 3}}, {"a": 2}, True),
        ({"a": {"$gt": 1}}, {"a": "2"}, False),
        ({"a": {"$lt": 1}}, {"a": None}, False),
        ({"a": {"$in": [1, 2]}}, {"a": 2}, True),
        ({"a": {"$nin": [1, 2]}}, {"a": 2}, False),
        ({"a": {"$exists": True}}, {"a": None}, False),
        ({"$or": [{"a": 1}, {"b": 1}]}, {"b": 1}, True),
        ({"$or": []}, {"b": 1}, False),
        ({"$not": {"a": 1}}, {"a": 2}, True),
        ({"$and": [{"a": 1}, {"b": 2}]}, {"a": 1, "b": 3}, False),
    ],
)
def test_a_condition_means_what_it_says(where: dict[str, object], row: dict[str, object], expected: bool) -> None:
    """Types never mix, absent is null, and every operator has its plain meaning."""
    check_where(where)
    assert matches(where, row) is expected


@pytest.mark.parametrize(
    "where",
    [
        "status = 1",
        {"$where": "1"},
        {"a": {"$regex": "."}},
        {"$and": {"a": 1}},
        {"a": {"$in": "abc"}},
        {1: 2},
        {"$not": 3},
    ],
)
def test_a_wrong_condition_is_refused(where: object) -> None:
    """A condition that would silently match all or nothing never reaches a search."""
    with pytest.raises(InvalidWhere):
        check_where(where)


def test_the_fields_of_a_condition_are_known() -> None:
    """Nested parts count."""
    assert fields_of({"a": 1, "$or": [{"b": 1}, {"$not": {"c": {"$gt": 1}}}]}) == {"a", "b", "c"}
