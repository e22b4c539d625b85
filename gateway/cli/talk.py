"""A conversation with the model: it asks, interrupts, listens, and comes back after a lost connection.

What was said is in `turns`; `changed` is called whenever something of it is different. No screen and no sound in here.
"""

import asyncio
import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .connection import Connection, State
from .turns import SaidTurn, Turns

EMBEDDED_MODEL = "earpiece-embedded"
_CANCEL_SECONDS = 2.0
_CUT = "cut_"  # begins the id of an event that tells how much was heard
_LONGEST_BACKLOG = 50  # events; a gateway that does not keep up would hear everything late


@dataclass(frozen=True, slots=True)
class Heard:
    """How much of an item's speech was played before it was cut off."""

    item: str
    milliseconds: int


class Speech(Protocol):
    """Plays what the model says. ``item`` is None for what the conversation does not hold."""

    def play(self, pcm: bytes, item: str | None) -> None:
        """Take 16-bit mono PCM at 24 kHz."""

    def played_out(self) -> None:
        """The item is complete."""

    def person_speaks(self) -> None:
        """Somebody is heard at the microphone."""


class Talk:
    """``run`` keeps the connection; `ask` and `interrupt` never wait. ``introduced``: the model has said who it is."""

    def __init__(
        self, url: str, *, token: str = "", changed: Callable[[SaidTurn | None], None] = lambda _: None
    ) -> None:
        self.model = ""
        self.model_problem = ""
        self.introduced = False
        self.has_voice = True
        self.unsent_pieces = 0
        self.turns = Turns(changed)
        self._changed = changed
        self._connection = Connection(url, token=token, on_state=self._state_changed, on_event=self.take)
        self._speech: Speech | None = None
        self._spoken_items: set[str] = set()
        self._silent_response = ""
        self._busy = False
        self._patience: asyncio.TimerHandle | None = None

    @property
    def state(self) -> State:
        return self._connection.state

    @property
    def current(self) -> SaidTurn | None:
        """The last turn that the model knows of."""
        return self.turns.current

    @property
    def running(self) -> bool:
        return self.turns.running is not None

    @property
    def is_embedded(self) -> bool:
        return self.model == EMBEDDED_MODEL

    async def run(self, *, keep: bool = True) -> None:
        """Connect, and connect again, until cancelled; with ``keep`` False return when the first connection ends."""
        await self._connection.run(keep=keep)

    def ask(self, question: str) -> SaidTurn | None:
        """Ask; what is still being answered is stopped first. None when there is no gateway to ask."""
        if self.state != "open":
            return None
        self.interrupt()
        turn = self.turns.begin(SaidTurn(question))
        self._flush()
        return turn

    def interrupt(self, cut: Iterable[Heard] = ()) -> None:
        """Stop the answer that is under way, if any. The model is told what was ``cut`` off from its speech."""
        for heard in cut:
            self._truncate(heard)
        turn = self.turns.running
        if turn is None:
            return
        self.turns.move(turn, "interrupted")
        if self._busy:
            self._connection.send({"type": "response.cancel"})
            self._patience = asyncio.get_running_loop().call_later(_CANCEL_SECONDS, self._idle)

    def speak_to(self, speech: Speech | None) -> None:
        """Have answers spoken to this, or with None have them written only."""
        if speech is self._speech:
            return
        self._speech = speech
        self.has_voice = True  # until an answer comes without sound
        if self.state == "open":
            self._configure()

    def send_audio(self, pcm: bytes) -> None:
        """Let the model hear 16-bit mono PCM at 24 kHz. What cannot be sent in time is left out and counted."""
        if self.state != "open" or self._connection.waiting > _LONGEST_BACKLOG:
            self.unsent_pieces += 1
            return
        self._connection.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()})

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event of the gateway. A sentence that only bridges a slow look-up is neither answer nor end."""
        if str((event.get("error") or {}).get("event_id") or "").startswith(_CUT):
            return  # the model does not know what was cut off; that is no trouble of the present question
        if self._speech is not None and event["type"] in _SPEECH_HANDLERS:
            _SPEECH_HANDLERS[event["type"]](self, self._speech, event)
        self.turns.take(event)
        handler = _HANDLERS.get(event["type"])
        if handler is not None and not self.turns.is_holding(event):
            handler(self, event)

    def _state_changed(self, state: State) -> None:
        if state == "open":
            self._configure()
            for question, answer in self.turns.history():
                self._connection.send(_message("user", "input_text", question))
                self._connection.send(_message("assistant", "output_text", answer))
        else:
            self.introduced = False
            self._busy = False
            self._spoken_items.clear()
            self.turns.lose()
        self._changed(None)

    def _configure(self) -> None:
        wanted = ["audio"] if self._speech is not None else ["text"]
        self._connection.send({"type": "session.update", "session": {"type": "realtime", "output_modalities": wanted}})

    def _truncate(self, heard: Heard) -> None:
        if heard.item in self._spoken_items:  # an item of a lost connection is known to nobody any more
            place = {"item_id": heard.item, "content_index": 0, "audio_end_ms": heard.milliseconds}
            self._connection.send({"type": "conversation.item.truncate", "event_id": _CUT + heard.item, **place})

    def _audio(self, speech: Speech, event: Mapping[str, Any]) -> None:
        self.has_voice = True
        if event["response_id"] == self._silent_response:
            self._silent_response = ""
        if not self.turns.wants(event["response_id"]):
            return
        # A holding sentence is outside the conversation: the model has no item of it that could be cut off.
        item = None if self.turns.is_holding(event) else event["item_id"]
        if item is not None:
            self._spoken_items.add(item)
        speech.play(base64.b64decode(event["delta"]), item)

    def _session(self, event: Mapping[str, Any]) -> None:
        self.model = str(event["session"].get("model") or self.model)
        self.model_problem = ""
        self.introduced = True
        self._changed(None)

    def _response_began(self, event: Mapping[str, Any]) -> None:
        self._busy = True
        self._silent_response = event["response"]["id"] if self._speech is not None else ""

    def _response_done(self, event: Mapping[str, Any]) -> None:
        response = event["response"]
        completed = response.get("status") == "completed" and self.current is not None and self.current.answer
        if completed and response["id"] == self._silent_response:
            self.has_voice = False
            self._changed(None)
        self._idle()

    def _failed(self, event: Mapping[str, Any]) -> None:
        error = event.get("error") or {}
        if error.get("code") == "model_unavailable":
            self.model_problem = str(error.get("message") or "the model cannot be reached")
            self._changed(None)
        if error.get("type") == "invalid_request_error":
            self._idle()

    def _idle(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._busy = False
        self._flush()

    def _flush(self) -> None:
        queued = self.turns.queued
        if self._busy or not queued:
            return
        # Only the last of several questions asked in a hurry is still wanted.
        for older in queued[:-1]:
            self.turns.move(older, "interrupted")
        self._busy = True
        self._connection.send(_message("user", "input_text", queued[-1].question))
        self._connection.send({"type": "response.create"})
        self.turns.move(queued[-1], "asked")


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": "conversation.item.create", "item": item}


_SPEECH_HANDLERS: dict[str, Callable[[Talk, Speech, Mapping[str, Any]], None]] = {
    "input_audio_buffer.speech_started": lambda talk, speech, event: speech.person_speaks(),
    "response.output_audio.delta": Talk._audio,
    "response.output_audio.done": lambda talk, speech, event: speech.played_out(),
}
_HANDLERS: dict[str, Callable[[Talk, Mapping[str, Any]], None]] = {
    "session.created": Talk._session,
    "session.updated": Talk._session,
    "response.created": Talk._response_began,
    "response.done": Talk._response_done,
    "error": Talk._failed,
}

__all__ = ["EMBEDDED_MODEL", "Heard", "Speech", "Talk"]
