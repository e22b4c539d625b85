"""What the user says, as the model's transcripts tell it, on its way to lookups ahead of the call."""

from collections.abc import Callable
from typing import Any, Protocol

Event = dict[str, Any]
_TRANSCRIPT = "conversation.item.input_audio_transcription."


class Listening(Protocol):
    """Takes the words of a turn; see `gateway.listening.Listener`."""

    def heard(self, delta: str) -> None: ...

    def heard_so_far(self, text: str) -> None: ...

    def finished(self, text: str | None = None) -> None: ...

    def asked(self) -> None: ...

    def new_turn(self) -> None: ...

    def close(self) -> None: ...


class Ears:
    """Takes every event of the model. Transcripts come in pieces, as a whole that still changes, or once at the end.

    Words of an utterance that came before the present one are too late to be looked up, so they are passed over.
    """

    def __init__(self, listening: Listening) -> None:
        self._listening = listening
        self._item: str | None = None
        self._speaking = False
        self._handlers: dict[str, Callable[[Event], None]] = {
            "input_audio_buffer.speech_started": self._started,
            "input_audio_buffer.speech_stopped": self._stopped,
            f"{_TRANSCRIPT}delta": self._piece,
            f"{_TRANSCRIPT}text": self._so_far,
            f"{_TRANSCRIPT}completed": self._final,
            "response.done": self._answered,
        }

    def take(self, event: Event) -> None:
        """Take one event in the gateway's own dialect."""
        handler = self._handlers.get(event["type"])
        if handler is not None:
            handler(event)

    def asked(self) -> None:
        """The model has called: nothing is looked up ahead any more in this turn."""
        self._listening.asked()

    def close(self) -> None:
        """The session is over."""
        self._listening.close()

    def _started(self, event: Event) -> None:
        self._item, self._speaking = event.get("item_id"), True
        self._listening.new_turn()

    def _stopped(self, event: Event) -> None:
        self._speaking = False
        self._listening.finished()

    def _answered(self, event: Event) -> None:
        """A transcript may come after the answer; then there is nothing left to look up."""
        if not self._speaking and (event.get("response") or {}).get("status") == "completed":
            self._listening.asked()

    def _is_present(self, event: Event) -> bool:
        return self._item is None or event.get("item_id") in (None, self._item)

    def _piece(self, event: Event) -> None:
        if self._is_present(event):
            self._listening.heard(str(event.get("delta") or ""))

    def _so_far(self, event: Event) -> None:
        if self._is_present(event):
            self._listening.heard_so_far(f"{event.get('text') or ''}{event.get('stash') or ''}")

    def _final(self, event: Event) -> None:
        if self._is_present(event):
            self._listening.finished(str(event.get("transcript") or "") or None)


__all__ = ["Ears", "Listening"]
