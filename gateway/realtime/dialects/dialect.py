"""The interface of a dialect. One object serves one connection, so it may remember what it has seen."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

Event = dict[str, Any]

ErrorClass = Literal["busy", "benign", "expired", "fatal", "ordinary"]
"""busy: ask again when idle; benign: nothing was lost; expired: a new session can go on; fatal: no session can."""


class Dialect(Protocol):
    """Translates between the GA protocol, which our clients speak, and what one model speaks."""

    raw_from_model: Mapping[str, str]
    """Event types of the model that reach the client without being parsed, and the names they have there."""

    raw_to_model: frozenset[str]
    """Event types of the client that reach the model as they are, without being parsed."""

    def url(self, address: str, model: str) -> str:
        """Return the address to connect to for this model."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that authenticate this gateway to the model."""
        ...

    def to_model(self, event: Event) -> Sequence[Event]:
        """Translate one event of the client, or of the gateway."""
        ...

    def from_model(self, event: Event) -> Sequence[Event]:
        """Translate one event of the model."""
        ...

    def error_class(self, error: Mapping[str, Any]) -> ErrorClass:
        """Say what an error of the model means for the session."""
        ...

    def farewell(self) -> Sequence[Event]:
        """What is sent before the connection is closed from our side."""
        ...


__all__ = ["Dialect", "ErrorClass", "Event"]
