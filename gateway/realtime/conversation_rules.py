"""Pure: what the session's own settings say about interruptions; follows every ``session.update`` of the client."""

from collections.abc import Mapping
from typing import Any


class ConversationRules:
    """Whether speech interrupts, and whether the model answers by itself when the user stops speaking."""

    def __init__(self) -> None:
        self.interrupts = True
        self.model_answers = True

    def update(self, session: Mapping[str, Any]) -> None:
        """Take the turn detection of a session as the model reports it, in GA or in the flat older shape."""
        detection = session.get("turn_detection", _nested(session))
        if isinstance(detection, Mapping):
            self.interrupts = detection.get("interrupt_response") is not False
            self.model_answers = detection.get("create_response") is not False
        elif detection is None:
            self.model_answers = False


_ABSENT = object()


def _nested(session: Mapping[str, Any]) -> object:
    audio = session.get("audio")
    heard = audio.get("input") if isinstance(audio, Mapping) else None
    return heard.get("turn_detection", _ABSENT) if isinstance(heard, Mapping) else _ABSENT


__all__ = ["ConversationRules"]
