"""What the service tells its operator, as typed facts. No query, no text of a document, no vendor message."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SourceStatus = Literal["ok", "failed", "timed_out", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOutcome:
    """What became of one source in one search. ``code`` says why it is not ok; ``complete`` is false when the
    index may hold more that the caller could read than was looked at."""

    source_id: str
    status: SourceStatus
    code: str = ""
    raw: int = 0
    dropped: int = 0
    returned: int = 0
    rounds: int = 0
    seconds: float = 0.0
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEvent:
    """Base of all events; ``kind`` is the class's name on the wire, ``at`` seconds since 1970."""

    trace_id: str = ""
    at: float = field(default_factory=time.time)

    def facts(self) -> dict[str, Any]:
        return {"kind": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched(ServiceEvent):
    """A search ended. ``query`` is empty unless the host chose to record it."""

    user_id: str
    tenant_id: str = ""
    sources: tuple[SourceOutcome, ...]
    returned: int
    seconds: float
    query: str = ""
    trusted_index: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChanged(ServiceEvent):
    """A source was registered, replaced or removed."""

    source_id: str
    change: Literal["registered", "replaced", "removed"]
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(ServiceEvent):
    """Documents were written to or removed from an index."""

    source_id: str
    reason: str
    written: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced(ServiceEvent):
    """A batch of record changes reached the index; ``lag_seconds`` is the age of its oldest change."""

    object: str
    records: int
    lag_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncFailed(ServiceEvent):
    """A batch of record changes did not reach an index; ``dead`` of its records will not be tried again."""

    object: str
    code: str
    records: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReapGuarded(ServiceEvent):
    """Rows about to be purged were confirmed, or kept because a document of theirs is not gone."""

    object: str
    confirmed: int
    kept: int


Listener = Callable[[ServiceEvent], None]


__all__ = [
    "Indexed",
    "Listener",
    "ReapGuarded",
    "Searched",
    "ServiceEvent",
    "SourceChanged",
    "SourceOutcome",
    "SourceStatus",
    "SyncFailed",
    "Synced",
]
