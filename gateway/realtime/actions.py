"""What the call table decides. Each is done by the session, in the order given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class CallKey(NamedTuple):
    """Names one call in one session: models have been seen to use a call id twice."""

    response_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Start:
    """Begin the retrieval that a call asks for."""

    key: CallKey
    arguments: str
    turn: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Nobody waits for this retrieval any more. ``reason`` is ``superseded`` or ``connection_lost``."""

    key: CallKey
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Send the output of a call to the model; ``output`` None means that the call was superseded."""

    key: CallKey
    output: str | None


@dataclass(frozen=True, slots=True)
class Create:
    """Ask the model for a response. ``event`` is the whole ``response.create``."""

    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Cancel a response that nobody wants any more, by its id."""

    response_id: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Call `CallTable.retry` after this many seconds: the model was busy and nothing else will wake us."""

    seconds: float


@dataclass(frozen=True, slots=True)
class EndWait:
    """The client was owed a response that will not come; end it for the client with this status and reason.

    ``response_id`` names a response that was held back; without it the client's ``response.create`` led to none,
    and ``metadata`` is what the client gave with it.
    """

    response_id: str | None
    status: str
    reason: str
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell the client that a response is under way already, as the model itself would."""

    event: Mapping[str, Any]


Action = Start | Stop | Answer | Create | CancelResponse | RetryLater | EndWait | Refuse

__all__ = [
    "Action",
    "Answer",
    "CallKey",
    "CancelResponse",
    "Create",
    "EndWait",
    "Refuse",
    "RetryLater",
    "Start",
    "Stop",
]
