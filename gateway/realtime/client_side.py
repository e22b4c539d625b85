"""What the client says, and what becomes of it on the way to the model."""

from collections.abc import Callable
from typing import Any

from .session_core import SessionCore
from .tool_offer import ReservedToolName
from .wire import error_event

Event = dict[str, Any]


class ClientSide:
    """Takes the client's events one by one."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._handlers: dict[str, Callable[[Event], None]] = {
            "session.update": self._session_update,
            "response.create": self._response_create,
            "response.cancel": self._response_cancel,
            "conversation.item.create": self._item_create,
            "input_audio_buffer.commit": self._committed,
        }

    def take(self, event: Event) -> None:
        """Take one event, and send the model what it is to know of it."""
        try:
            self._core.memory.client_event(event)
            self._handlers.get(event["type"], self._core.to_model)(event)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            self._refuse(event, "invalid_event", f"The event {event['type'][:80]!r} lacks a field or has a wrong one.")

    def _session_update(self, event: Event) -> None:
        core, session = self._core, event.get("session")
        try:
            offered = core.offer.session_update(event)
        except ReservedToolName as problem:
            self._refuse(event, "reserved_tool_name", str(problem), "session.tools")
            return
        if isinstance(session, dict):
            core.take_rules(session)
            core.memory.updated(session)
        core.update_session(offered, ours=False)

    def _response_create(self, event: Event) -> None:
        _check_response(event.get("response"))
        try:
            offered = self._core.offer.response_create(event)
        except ReservedToolName as problem:
            self._refuse(event, "reserved_tool_name", str(problem), "response.tools")
            return
        # With an id of its own, a refusal by the model can be told from a refusal of something else.
        named = {**offered, "event_id": event.get("event_id") or f"client_{self._core.event_id()}"}
        self._core.perform(self._core.table.client_create(named))

    def _response_cancel(self, event: Event) -> None:
        response_id = event.get("response_id")
        tell, actions = self._core.table.client_cancel(response_id if isinstance(response_id, str) else None)
        self._core.perform(actions)
        if tell:
            self._core.to_model(event)

    def _item_create(self, event: Event) -> None:
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") == "function_call_output":
            if self._core.table.owns(str(item.get("call_id"))):
                message = "This call is the gateway's own and is answered by it."
                self._refuse(event, "invalid_function_call_output", message, "item.call_id")
                return
        elif isinstance(item, dict) and item.get("role") == "user":
            self._core.table.user_message()
            self._core.user_finished()
        self._core.to_model(event)

    def _committed(self, event: Event) -> None:
        # Where the client decides when the user has spoken, this is the only sign of a new turn.
        if not self._core.table.slot.model_answers:
            self._core.table.user_message()
        self._core.to_model(event)

    def _refuse(self, event: Event, code: str, message: str, param: str | None = None) -> None:
        self._core.to_client([error_event(code, message, param=param, about=event.get("event_id"))])


def _check_response(response: object) -> None:
    """Raise `TypeError` for what cannot be kept as the wish for a response."""
    if response is None:
        return
    if not isinstance(response, dict) or not isinstance(response.get("metadata") or {}, dict):
        raise TypeError("response")


__all__ = ["ClientSide"]
