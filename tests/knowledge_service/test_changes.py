"""Events of several shapes name the same record."""

from typing import Any

import pytest

from knowledge_service.changes import EVERY_RECORD, UnreadableEvent, change_from


@pytest.mark.parametrize(
    "event",
    [
        {"type": "data.record.created", "object": "article", "payload": {"after": {"id": "7"}, "recordId": "7"}},
        {"type": "data.record.updated", "object": "article", "after": {"id": 7}},
        {"type": "data.record.deleted", "object": "article", "recordId": "7"},
        {"type": "record.created", "payload": {"object": "article", "record": {"id": "7"}}},
        {"type": "record.updated", "object": "article", "payload": {"id": "7", "body": "x"}},
        {"event": "record.deleted", "object": "article", "id": "7"},
    ],
)
def test_every_shape_names_its_record(event: dict[str, Any]) -> None:
    """The new names and the older ones."""
    change = change_from(event)
    assert change is not None
    assert (change.object, change.record_id) == ("article", "7")


def test_a_bulk_event_means_any_record() -> None:
    """It names no record, so the source has to be compared as a whole."""
    change = change_from({"type": "data.records.deleted", "object": "article", "payload": {"matched": 12}})
    assert change is not None
    assert change.record_id == EVERY_RECORD


@pytest.mark.parametrize("event", [{}, {"type": "user.created"}, {"type": "data.record.viewed", "recordId": "1"}])
def test_other_news_is_not_taken_for_a_change(event: dict[str, Any]) -> None:
    """A bus carries more than records."""
    assert change_from(event) is None


@pytest.mark.parametrize(
    "event",
    [
        {"type": "data.record.deleted", "object": "article"},
        {"type": "data.record.deleted", "recordId": "7"},
        {"type": "data.record.updated", "object": "article", "recordId": ""},
        {"type": "data.record.updated", "object": "article", "after": {"id": True}},
    ],
)
def test_an_event_without_its_record_is_refused(event: dict[str, Any]) -> None:
    """Dropping it in silence would leave the index behind for ever."""
    with pytest.raises(UnreadableEvent):
        change_from(event)
