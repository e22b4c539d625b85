"""Pure: what a new connection to the model is told, so that the conversation goes on where the lost one ended.

The client's settings are kept as they were set; of what was said the text is kept, bounded, newest first to stay.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

Event = dict[str, Any]

MAX_ITEMS = 40
MAX_CHARACTERS = 16_000
ITEM_PREFIX = "msg_earpiece_"


class SessionMemory:
    """The settings and the words of one session."""

    def __init__(self) -> None:
        self.settings: Event = {}
        self._said: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._characters = 0
        self._replays = 0

    def updated(self, session: Mapping[str, Any]) -> None:
        """Take what the client sets; what it leaves out stays as it was."""
        self.settings = _merged(self.settings, session)

    def said(self, item_id: str, role: str, text: str) -> None:
        """Remember the words of an item; a later text of the same item replaces the earlier one."""
        self.forget(item_id)
        if not text.strip():
            return
        self._said[item_id] = (role, text[-MAX_CHARACTERS:])
        self._characters += len(self._said[item_id][1])
        while len(self._said) > MAX_ITEMS or self._characters > MAX_CHARACTERS:
            self._characters -= len(self._said.popitem(last=False)[1][1])

    def forget(self, item_id: str) -> None:
        """Leave out an item, for one that the client has deleted."""
        _, text = self._said.pop(item_id, ("", ""))
        self._characters -= len(text)

    def client_event(self, event: Event) -> None:
        """Remember what the client wrote."""
        item = event.get("item")
        if event["type"] == "conversation.item.create" and isinstance(item, dict) and item.get("type") == "message":
            text = " ".join(str(part.get("text")) for part in item.get("content") or [] if part.get("text"))
            self.said(str(item.get("id") or f"client_{len(self._said)}_{hash(text)}"), str(item.get("role")), text)
        elif event["type"] == "conversation.item.delete":
            self.forget(str(event.get("item_id")))

    def model_event(self, event: Event) -> None:
        """Remember what the model said, and what it understood of the user's speech."""
        match event["type"]:
            case "response.output_text.done":
                self.said(str(event.get("item_id")), "assistant", str(event.get("text") or ""))
            case "response.output_audio_transcript.done":
                self.said(str(event.get("item_id")), "assistant", str(event.get("transcript") or ""))
            case "conversation.item.input_audio_transcription.completed":
                self.said(str(event.get("item_id")), "user", str(event.get("transcript") or ""))

    def replay(self) -> list[Event]:
        """Return the events that tell a new session what was said; their items have ids with `ITEM_PREFIX`."""
        self._replays += 1
        told = enumerate(self._said.values())
        return [_message(f"{ITEM_PREFIX}{self._replays}_{number}", role, text) for number, (role, text) in told]


def _message(item_id: str, role: str, text: str) -> Event:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    item = {"id": item_id, "type": "message", "role": role, "content": [part]}
    return {"type": "conversation.item.create", "item": item}


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Event:
    nested = {
        key: _merged(old[key], value)
        for key, value in new.items()
        if isinstance(old.get(key), Mapping) and isinstance(value, Mapping)
    }
    return {**old, **new, **nested}


__all__ = ["ITEM_PREFIX", "SessionMemory"]
