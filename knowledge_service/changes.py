"""News from a system of record: which record changed. The record itself is always read again, never taken from the
news.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import KnowledgeServiceError

EVERY_RECORD = ""
"""The record id of a change that may have touched any record: the source is then compared as a whole."""

_SINGLE = ("created", "updated", "deleted")
_PREFIXES = ("data.record.", "record.")
_BULK_PREFIXES = ("data.records.", "records.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """One record of ``object`` was created, updated or deleted. ``version`` grows with every write, where there is
    one.
    """

    object: str
    record_id: str
    version: int | None = None
    trace_id: str = ""


class UnreadableEvent(KnowledgeServiceError):
    """Raised when an event cannot be meant as news of a record."""

    code = "knowledge_event_unreadable"


def change_from(event: Mapping[str, Any]) -> RecordChange | None:
    """The change an event tells of; `None` when it is about something else.

    Read are ``data.record.created|updated|deleted`` and the older ``record.*``: a ``type`` (or ``event``), an
    ``object`` and the record's id as ``recordId``, or in ``after``, ``record`` or ``payload``. The plural
    ``data.records.*`` names no record and means any. Raises `UnreadableEvent` where the type is right and the record
    cannot be found.
    """
    kind = str(event.get("type") or event.get("event") or "")
    payload = event.get("payload")
    facts = {**event, **payload} if isinstance(payload, Mapping) else dict(event)
    if _is(kind, _BULK_PREFIXES):
        return RecordChange(object=_object(kind, facts), record_id=EVERY_RECORD, trace_id=_trace(facts))
    if not _is(kind, _PREFIXES):
        return None
    return RecordChange(
        object=_object(kind, facts), record_id=_record_id(kind, facts), version=_version(facts), trace_id=_trace(facts)
    )


def _is(kind: str, prefixes: tuple[str, ...]) -> bool:
    return any(kind == prefix + verb for prefix in prefixes for verb in _SINGLE)


def _object(kind: str, facts: Mapping[str, Any]) -> str:
    name = facts.get("object")
    if not isinstance(name, str) or not name:
        raise UnreadableEvent(f"Event {kind!r} names no object. Send it as 'object'.")
    return name


def _record_id(kind: str, facts: Mapping[str, Any]) -> str:
    inside = [facts.get(name) for name in ("after", "before", "record")]
    found = [
        facts.get("recordId"),
        facts.get("record_id"),
        *(one.get("id") for one in inside if isinstance(one, Mapping)),
    ]
    found.append(facts.get("id") if kind.startswith("record.") else None)
    for one in found:
        if isinstance(one, int) and not isinstance(one, bool):
            return str(one)
        if isinstance(one, str) and one:
            return one
    raise UnreadableEvent(f"Event {kind!r} names no record. Send its id as 'recordId'.")


def _version(facts: Mapping[str, Any]) -> int | None:
    found = facts.get("version")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _trace(facts: Mapping[str, Any]) -> str:
    return str(facts.get("traceId") or facts.get("trace_id") or "")[:64]


__all__ = ["EVERY_RECORD", "RecordChange", "UnreadableEvent", "change_from"]
