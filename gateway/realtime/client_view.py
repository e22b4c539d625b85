"""Pure: what the client sees. Items and events of our calls are taken out; the rest passes as it came.

A response that turns out to hold nothing but calls of ours is not shown at all: the client waits a little longer and
then sees the response that answers. So its ``response.created`` is held back until something visible follows.
"""

from collections.abc import Mapping
from typing import Any

from .call_table import Showing
from .response_slot import FOLLOW_UP_MARK
from .tool_offer import ToolOffer

Event = dict[str, Any]

_REMEMBERED = 8


class ClientView:
    """The view of one session. Every method returns the events to send on, possibly none."""

    def __init__(self, offer: ToolOffer) -> None:
        self._offer = offer
        self._held: dict[str, Event] = {}
        self._owed: dict[str, Event] = {}
        self._open: dict[str, Event] = {}
        self._fenced: set[str] = set()
        self._hidden_items: dict[str, str | None] = {}
        self._serial = 0

    @property
    def must_read(self) -> bool:
        """Whether some response is hidden or held back just now, so that no event may pass unread."""
        return bool(self._fenced or self._held)

    def created(self, event: Event) -> None:
        """Hold ``response.created`` back until something of the response is visible."""
        self._held[event["response"]["id"]] = {**event, "response": self._public(event["response"])}

    def fence(self, response_id: str) -> None:
        """Hide this response from its beginning to its end."""
        self._fenced.add(response_id)
        self._held.pop(response_id, None)

    def shown(self, response_id: str) -> bool:
        return response_id in self._open

    def hide_item(self, item_id: str | None) -> None:
        """Take an item, and whatever is said of it, out of sight."""
        if item_id:
            self._hidden_items.setdefault(item_id, None)

    def event(self, event: Event) -> list[Event]:
        """Any event that is not treated by name."""
        response_id = event.get("response_id")
        if response_id in self._fenced or self._concerns_hidden(event):
            return []
        return [*self._release(response_id), self._relinked(event)]

    def done(self, event: Event, showing: Showing) -> list[Event]:
        """A ``response.done``, without our calls, as far as the client is to see it."""
        response_id = event["response"]["id"]
        if showing == "hide":
            self._fenced.discard(response_id)
            return []
        if showing == "swallow":
            self._owed[response_id] = self._held.pop(response_id)
            if len(self._owed) > _REMEMBERED:
                del self._owed[next(iter(self._owed))]
            return []
        released = self._release(response_id)
        self._open.pop(response_id, None)
        response = self._public(event["response"])
        if showing == "cancelled":
            response |= _cancelled("cancelled", "client_cancelled")
        return [*released, {**event, "response": response}]

    def end_wait(
        self, response_id: str | None, status: str, reason: str, metadata: Mapping[str, Any] | None = None
    ) -> list[Event]:
        """End a response that the client waits for and that will not come."""
        created = self._owed.pop(response_id, None) if response_id else None
        created = created or self._invented(metadata)
        ended = {**created["response"], "output": [], **_cancelled(status, reason)}
        return [created, {"type": "response.done", "event_id": self._event_id(), "response": ended}]

    def connection_lost(self) -> list[Event]:
        """End every response that is under way, also one of which nothing could be shown so far."""
        begun = [*self._held.values()]
        ended = [{**created["response"], **_cancelled("failed", "connection_lost")} for created in self._open.values()]
        ended += [{**created["response"], **_cancelled("failed", "connection_lost")} for created in begun]
        for kept in (self._open, self._owed, self._held, self._fenced, self._hidden_items):
            kept.clear()
        dones = [{"type": "response.done", "event_id": self._event_id(), "response": response} for response in ended]
        return [*begun, *dones]

    def _release(self, response_id: str | None) -> list[Event]:
        created = self._held.pop(response_id, None) if response_id else None
        if created is None or response_id is None:
            return []
        self._open[response_id] = created
        return [created]

    def _public(self, response: Mapping[str, Any]) -> Event:
        public = self._offer.without_ours(response)
        if isinstance(public.get("output"), list):
            public["output"] = [item for item in public["output"] if not self._is_hidden(item)]
        metadata = public.get("metadata")
        if isinstance(metadata, dict) and FOLLOW_UP_MARK in metadata:
            rest = {key: value for key, value in metadata.items() if key != FOLLOW_UP_MARK}
            public["metadata"] = rest or None
        return public

    def _is_hidden(self, item: object) -> bool:
        if not isinstance(item, Mapping):
            return False
        ours = item.get("type") == "function_call" and item.get("name") == self._offer.name
        return ours or item.get("id") in self._hidden_items

    def _concerns_hidden(self, event: Mapping[str, Any]) -> bool:
        item = event.get("item")
        item_id = item.get("id") if isinstance(item, Mapping) else event.get("item_id")
        if item_id not in self._hidden_items:
            return False
        if "previous_item_id" in event:
            self._hidden_items[str(item_id)] = event["previous_item_id"]
        return True

    def _relinked(self, event: Event) -> Event:
        """Let an item follow the last one that the client knows, instead of one that it does not."""
        previous = event.get("previous_item_id")
        if previous not in self._hidden_items:
            return event
        while previous in self._hidden_items:
            previous = self._hidden_items[previous]
        return {**event, "previous_item_id": previous}

    def _invented(self, metadata: Mapping[str, Any] | None) -> Event:
        response = {"object": "realtime.response", "id": f"resp_earpiece_{self._event_id()}", "output": []}
        created = {**response, "status": "in_progress", "status_details": None, "metadata": metadata}
        return {"type": "response.created", "event_id": self._event_id(), "response": created}

    def _event_id(self) -> str:
        self._serial += 1
        return f"event_gateway_{self._serial}"


def _cancelled(status: str, reason: str) -> Event:
    details: Event = {"type": status, "reason": reason}
    if status == "failed":
        details = {"type": status, "error": {"type": "server_error", "code": reason}}
    return {"status": status, "status_details": details}


__all__ = ["ClientView"]
