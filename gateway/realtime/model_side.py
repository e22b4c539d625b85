"""What the model says, and what becomes of it on the way to the client."""

import logging
from collections.abc import Callable
from typing import Any

from .actions import CallKey, CancelResponse
from .session_core import SessionCore
from .wire import error_event

Event = dict[str, Any]

_logger = logging.getLogger(__name__)


class FatalModelError(Exception):
    """Raised when the model has said that this session cannot go on; the client has been told."""


class ModelSide:
    """Takes the model's events one by one."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self.expires_at: float | None = None
        self._greeted = False
        self._handlers: dict[str, Callable[[Event], None]] = {
            "session.created": self._session_created,
            "session.updated": self._session_updated,
            "response.created": self._response_created,
            "response.output_item.added": self._output_item,
            "response.output_item.done": self._output_item,
            "response.function_call_arguments.done": self._arguments_done,
            "response.done": self._response_done,
            "conversation.item.added": self._conversation_item,
            "conversation.item.created": self._conversation_item,
            "conversation.item.done": self._conversation_item,
            "conversation.item.retrieved": self._conversation_item,
            "input_audio_buffer.speech_started": self._speech_started,
            "input_audio_buffer.speech_stopped": self._speech_stopped,
            "error": self._error,
        }

    def take(self, event: Event) -> None:
        """Take one event in the model's dialect. Raises `FatalModelError` when the session cannot go on."""
        try:
            for translated in self._core.dialect.from_model(event):
                self._core.listen(translated)
                self._handlers.get(translated["type"], self._pass)(translated)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            # What only looks like an event that we know is dropped; it is no reason to hang up.
            kind = type(error).__name__
            _logger.warning(
                "A model event of type %r is malformed: %s (%s).", event["type"][:80], kind, self._core.session_id
            )

    def _pass(self, event: Event) -> None:
        visible = self._core.view.event(event)
        for seen in visible:
            self._core.memory.model_event(seen)
        self._core.to_client(visible)

    def _session_created(self, event: Event) -> None:
        expires_at = (event.get("session") or {}).get("expires_at")
        self.expires_at = float(expires_at) if isinstance(expires_at, (int, float)) else None
        if not self._greeted:
            self._greeted = True
            self._core.to_client([{**event, "session": self._core.offer.without_ours(event.get("session") or {})}])

    def _session_updated(self, event: Event) -> None:
        session = event.get("session") or {}
        self._core.take_rules(session)
        if self._core.acknowledged():
            self._core.to_client([{**event, "session": self._core.offer.without_ours(session)}])

    def _response_created(self, event: Event) -> None:
        response = event["response"]
        if not isinstance(response.get("metadata") or {}, dict):
            response = {**response, "metadata": None}
            event = {**event, "response": response}
        if self._core.holding.created(response):
            self._core.view.created(event)
            return
        actions = self._core.table.response_created(response["id"], response.get("metadata"))
        self._core.view.created(event)
        if any(isinstance(action, CancelResponse) for action in actions):
            self._core.view.fence(response["id"])
        self._core.perform(actions)

    def _output_item(self, event: Event) -> None:
        item, response_id = event["item"], event["response_id"]
        if item.get("type") == "function_call":
            if item.get("name") == self._core.offer.name:
                self._our_call(response_id, item, event.get("output_index") or 0)
            else:
                self._core.table.client_call_seen(response_id, str(item.get("call_id")))
        self._pass(event)

    def _our_call(self, response_id: str, item: Event, index: int) -> None:
        core = self._core
        core.view.hide_item(item.get("id"))
        arguments = item.get("arguments")
        if item.get("status") == "completed" and isinstance(arguments, str) and arguments:
            core.perform(core.table.call_complete(response_id, item["call_id"], arguments, index))
        else:
            core.perform(core.table.call_seen(response_id, item["call_id"], index))

    def _arguments_done(self, event: Event) -> None:
        core, key = self._core, CallKey(event.get("response_id", ""), str(event.get("call_id")))
        if event.get("name") == core.offer.name or core.table.knows(key):
            core.view.hide_item(event.get("item_id"))
            index, arguments = event.get("output_index") or 0, str(event.get("arguments") or "")
            core.perform(core.table.call_complete(event["response_id"], key.call_id, arguments, index))
        self._pass(event)

    def _response_done(self, event: Event) -> None:
        core, response = self._core, event["response"]
        if response["id"] == core.holding.speaking:
            core.to_client(core.view.done(event, "show"))
            core.holding_over()
            return
        for index, item in enumerate(response.get("output") or []):
            if item.get("type") == "function_call" and item.get("name") == core.offer.name:
                self._our_call(response["id"], item, index)
        shown = core.view.shown(response["id"])
        showing, actions = core.table.response_done(response["id"], str(response.get("status")), shown=shown)
        core.to_client(core.view.done(event, showing))
        core.perform(actions)

    def _conversation_item(self, event: Event) -> None:
        item = event.get("item") or {}
        call = item.get("type") == "function_call" and item.get("name") == self._core.offer.name
        output = item.get("type") == "function_call_output" and self._core.table.owns(str(item.get("call_id")))
        if call or output:
            self._core.view.hide_item(item.get("id"))
        self._pass(event)

    def _speech_started(self, event: Event) -> None:
        if (response_id := self._core.holding.speaking) and self._core.rules.interrupts:
            self._core.perform([CancelResponse(response_id)])
        self._core.perform(self._core.table.speech_started(interrupts=self._core.rules.interrupts))
        self._pass(event)

    def _speech_stopped(self, event: Event) -> None:
        self._pass(event)
        self._core.user_finished()
        self._core.perform(self._core.table.speech_stopped())

    def _error(self, event: Event) -> None:
        core, error = self._core, event.get("error") or {}
        kind = core.dialect.error_class(error)
        if kind == "expired":
            return  # the close that follows is survived by a new connection
        if kind == "fatal":
            core.to_client([_ending(error)])
            raise FatalModelError
        guessed = not error.get("event_id") and (kind == "busy" or (kind == "ordinary" and _may_refuse(error)))
        about = core.table.slot.oldest if guessed else error.get("event_id")
        if core.holding.is_about(about):
            core.holding_over()
        core.perform(core.table.rejected(str(about), busy=kind == "busy"))
        if core.is_ours(about) and not (guessed and kind == "ordinary"):
            _logger.info("The realtime model refused an event of the gateway: %s.", error.get("code") or kind)
        else:
            core.to_client([event])


def _may_refuse(error: Event) -> bool:
    """Say whether an error that names no event may be about a ``response.create``: it does not say otherwise."""
    about = (str(error.get("param") or ""), str(error.get("code") or ""))
    return not any(word.startswith(_NO_RESPONSE) for word in about)


_NO_RESPONSE = ("input_audio", "output_audio", "audio", "session", "item", "conversation", "previous_item")


def _ending(error: Event) -> Event:
    """Return the one typed error of a session that cannot go on. The model's own words may quote its key."""
    code, sentence = _ENDINGS.get(str(error.get("code")), _ENDINGS[""])
    return error_event(code, sentence, type="server_error")


_ENDINGS = {
    "": ("model_failed", "The realtime model has ended this session."),
    "invalid_api_key": ("model_unauthorized", "The realtime model does not accept the gateway's credentials."),
    "insufficient_quota": ("model_quota_exhausted", "The gateway's quota at the realtime model is used up."),
    "model_not_found": ("model_not_found", "The realtime model that was asked for does not exist there."),
}


__all__ = ["FatalModelError", "ModelSide"]
