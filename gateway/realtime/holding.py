"""Pure: what happens while a lookup takes long. A client is told, and the model may say one short sentence, once.

The sentence is a response outside the conversation. The answer waits until it has been said, and it is not said when
the answer is there.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from .actions import CallKey

Event = dict[str, Any]
HOLDING_MARK = "earpiece_holding"
"""The metadata key by which a response tells that it is only a holding sentence."""

_INSTRUCTIONS = (
    "You are looking something up and it takes a moment. Say so in one short, calm sentence in the language that the "
    "user speaks. Do not answer the question, and do not promise anything."
)


def holding_response(event_id: str) -> Event:
    """Return the ``response.create`` of a holding sentence."""
    response = {
        "conversation": "none",
        "instructions": _INSTRUCTIONS,
        "tools": [],
        "tool_choice": "none",
        "metadata": {HOLDING_MARK: event_id},
    }
    return {"type": "response.create", "event_id": event_id, "response": response}


@dataclass(slots=True)
class Holding:
    """The slow lookups of a session. ``speaks`` says whether a sentence is wanted; without it clients are only told."""

    speaks: bool = False
    _running: set[CallKey] = field(default_factory=set)
    _turn: str = ""
    _state: Literal["quiet", "asked", "speaking"] = "quiet"
    _event_id: str = ""
    _response_id: str = ""

    def began(self, key: CallKey) -> None:
        """A lookup runs."""
        self._running.add(key)

    def ended(self, key: CallKey) -> None:
        """A lookup has a result, or is not wanted any more."""
        self._running.discard(key)

    def is_slow(self, key: CallKey) -> bool:
        """The wait is over: say whether it still runs."""
        return key in self._running

    def wants_sentence(self, turn_id: str, *, silent: bool) -> bool:
        """Say whether to ask for a sentence now: once in a turn, and only while nobody speaks."""
        if not self.speaks or self._state != "quiet" or turn_id == self._turn or not silent:
            return False
        self._turn = turn_id
        return True

    def asked(self, event_id: str) -> None:
        """The sentence was asked for."""
        self._state, self._event_id = "asked", event_id

    @property
    def in_the_way(self) -> bool:
        """Whether a sentence was asked for and has not ended: the answer waits for it."""
        return self._state != "quiet"

    def created(self, response: Event) -> bool:
        """A response began: say whether it is the sentence."""
        if self._state == "asked" and (response.get("metadata") or {}).get(HOLDING_MARK) == self._event_id:
            self._state, self._response_id = "speaking", str(response["id"])
            return True
        return False

    def is_about(self, event_id: object) -> bool:
        """Say whether this is the event that asked for the sentence which is not over yet."""
        return self.in_the_way and event_id == self._event_id

    @property
    def speaking(self) -> str | None:
        """The id of the response that is the sentence, while it is said."""
        return self._response_id if self._state == "speaking" else None

    def over(self) -> None:
        """The sentence was said, refused, cancelled or lost."""
        self._state = "quiet"


__all__ = ["HOLDING_MARK", "Holding", "holding_response"]
