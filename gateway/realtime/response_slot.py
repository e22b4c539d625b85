"""Pure: who may speak. One response at a time may write to the conversation; this knows whether that is free."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FOLLOW_UP_MARK = "earpiece_follow_up"
"""The metadata key by which a response tells that we asked for it, where the model echoes metadata."""


@dataclass(slots=True)
class Asked:
    """A ``response.create`` that was sent and for which no ``response.created`` has come yet."""

    event: Mapping[str, Any]
    follow_up: bool
    turn: int
    depth: int = 0
    attempts: int = 1
    owed_for: str | None = None
    stale: bool = False

    @property
    def event_id(self) -> str:
        return str(self.event.get("event_id") or "")

    @property
    def metadata(self) -> Mapping[str, Any] | None:
        return (self.event.get("response") or {}).get("metadata")

    @property
    def in_conversation(self) -> bool:
        return (self.event.get("response") or {}).get("conversation") != "none"


@dataclass(slots=True)
class ResponseSlot:
    """Which responses were asked for, which runs, and whether the user is speaking.

    ``model_answers``: the model begins responses by itself. ``answer_due``: the user has spoken and such a response
    has not come yet. ``echoes_metadata``: the model was seen to give metadata back.
    """

    asked: list[Asked] = field(default_factory=list)
    active: set[str] = field(default_factory=set)
    speaking: bool = False
    model_answers: bool = True
    answer_due: bool = False
    echoes_metadata: bool = False

    @property
    def free(self) -> bool:
        """Whether a response may be asked for now."""
        waiting = any(asked.in_conversation and not asked.stale for asked in self.asked)
        return not (self.active or self.speaking or waiting)

    @property
    def oldest(self) -> str | None:
        """The event id of what was asked first and is still unanswered: a refusal that names nothing is about that."""
        return self.asked[0].event_id if self.asked else None

    def ask(self, asked: Asked) -> None:
        self.asked.append(asked)

    def created(self, response_id: str, metadata: Mapping[str, Any] | None) -> Asked | None:
        """Return what was asked and led to this response; None when the model began it by itself."""
        asked = self._match(metadata or {})
        if asked is not None:
            self.asked.remove(asked)
            self.echoes_metadata |= bool(metadata) and asked.metadata == metadata
        if asked is None or asked.in_conversation:
            self.active.add(response_id)
            self.answer_due = self.answer_due and self.speaking
        return asked

    def _match(self, metadata: Mapping[str, Any]) -> Asked | None:
        if self.echoes_metadata or FOLLOW_UP_MARK in metadata:
            return next((asked for asked in self.asked if (asked.metadata or {}) == metadata), None)
        if self.answer_due and not self.speaking:
            # What the model begins after the user has spoken is the answer to that, not what we had asked for before.
            self.asked = [asked for asked in self.asked if not asked.stale]
        return self.asked[0] if self.asked else None

    def rejected(self, event_id: str) -> Asked | None:
        """Forget what was asked under this event id and return it."""
        asked = next((asked for asked in self.asked if asked.event_id == event_id), None)
        if asked is not None:
            self.asked.remove(asked)
        return asked

    def done(self, response_id: str) -> None:
        self.active.discard(response_id)


__all__ = ["FOLLOW_UP_MARK", "Asked", "ResponseSlot"]
