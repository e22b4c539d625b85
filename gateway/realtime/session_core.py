"""What both sides of a session share: the pure parts, the two lanes, and the doing of what was decided."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

from ..knowledge_tool import KnowledgeTool, ToolOutcome
from ..projection import refusal
from ..settings import BargeIn
from . import knowledge_events
from .actions import Action, Answer, CallKey, CancelResponse, Create, EndWait, Refuse, RetryLater, Start, Stop
from .call_table import CallTable
from .client_view import ClientView
from .conversation_rules import ConversationRules
from .dialects import Dialect
from .lane import Lane
from .lookups import Asker, Lookups
from .tool_offer import ToolOffer
from .wire import error_event

Event = dict[str, Any]

_SUPERSEDED = "The user has moved on. Do not answer this."
_BUSY = "conversation_already_has_active_response"
_BUSY_SENTENCE = "Conversation already has an active response in progress. Wait until it is done."

_logger = logging.getLogger(__name__)


class SessionCore:
    """One session. Nothing here waits: what is to be sent is queued, what is to be retrieved runs in its own task."""

    def __init__(
        self,
        *,
        client: Lane,
        dialect: Dialect,
        tool: KnowledgeTool,
        asker: Asker,
        on_barge_in: BargeIn,
        knowledge_events: bool,
    ) -> None:
        self.client = client
        self.model: Lane | None = None
        self.dialect = dialect
        self.asker = asker
        self.offer = ToolOffer(tool.definition_for(asker.owner_id))
        self.table = CallTable()
        self.view = ClientView(self.offer)
        self.rules = ConversationRules()
        self.session_updates: deque[Event | None] = deque()
        self._lookups = Lookups(tool, asker, self._settled, on_barge_in=on_barge_in)
        self._turns: dict[CallKey, str] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._tells = knowledge_events
        self._serial = 0

    def to_client(self, events: Iterable[Event]) -> None:
        """Queue events for the client."""
        for event in events:
            self.client.put(event)

    def to_model(self, event: Event) -> None:
        """Queue an event for the model, in its dialect; dropped while there is no connection."""
        if self.model is not None:
            for translated in self.dialect.to_model(event):
                self.model.put(translated)

    def offer_tool(self) -> None:
        """Tell the model of our tool; its acknowledgement is not the client's."""
        opening = self.offer.opening()
        if opening is not None:
            self.session_updates.append(None)
            self.to_model({**opening, "event_id": self.event_id()})

    def is_ours(self, event_id: object) -> bool:
        """Say whether this is the id of an event that the gateway sent by itself."""
        return isinstance(event_id, str) and event_id.startswith("event_earpiece_")

    def event_id(self) -> str:
        self._serial += 1
        return f"event_earpiece_s{self._serial}"

    def perform(self, actions: Iterable[Action]) -> None:
        """Do what the table decided, in order."""
        for action in actions:
            match action:
                case Start(key, arguments, turn):
                    self._start(key, arguments, turn)
                case Stop(key, reason):
                    self._stop(key, reason)
                case Answer(key, output):
                    self._answer(key, output)
                case Create(event):
                    self.to_model(dict(event))
                case CancelResponse(response_id):
                    cancel = {"type": "response.cancel", "event_id": self.event_id(), "response_id": response_id}
                    self.to_model(cancel)
                case RetryLater(seconds):
                    self._later(seconds)
                case EndWait(response_id, status, reason):
                    self.to_client(self.view.end_wait(response_id, status, reason))
                case Refuse(event):
                    self.to_client([error_event(_BUSY, _BUSY_SENTENCE, about=event.get("event_id"))])

    async def aclose(self) -> None:
        """Stop every retrieval and timer of this session; returns when none is left."""
        for timer in self._timers:
            timer.cancel()
        self.perform(self.table.close())
        await self._lookups.aclose()

    def _start(self, key: CallKey, arguments: str, turn: int) -> None:
        self._turns[key] = turn_id = f"turn_{turn}"
        self._lookups.start(key, arguments, turn_id)
        if self._tells:
            self.to_client([knowledge_events.started(key.call_id, turn_id, arguments)])

    def _stop(self, key: CallKey, reason: str) -> None:
        self._lookups.stop(key, for_good=reason == "connection_lost")
        turn_id = self._turns.pop(key, "")
        if self._tells:
            self.to_client([knowledge_events.superseded(key.call_id, turn_id, reason)])

    def _answer(self, key: CallKey, output: str | None) -> None:
        text = refusal("superseded", _SUPERSEDED, retryable=False) if output is None else output
        item = {"type": "function_call_output", "call_id": key.call_id, "output": text}
        self.to_model({"type": "conversation.item.create", "event_id": self.event_id(), "item": item})

    def _settled(self, key: CallKey, outcome: ToolOutcome, elapsed_milliseconds: float) -> None:
        turn_id = self._turns.pop(key, "")
        if self._tells:
            self.to_client(knowledge_events.completed(key.call_id, turn_id, outcome, elapsed_milliseconds))
        self.perform(self.table.settled(key, outcome.output))

    def _later(self, seconds: float) -> None:
        def retry() -> None:
            self._timers.discard(timer)
            self.perform(self.table.retry())

        timer = asyncio.get_running_loop().call_later(seconds, retry)
        self._timers.add(timer)


__all__ = ["SessionCore"]
