"""What both sides of a session share: the pure parts, and the doing of what they decide.

Nothing here waits or needs an event loop: what is to be sent is put on a lane, what is to be retrieved is begun.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..knowledge_tool import ToolOutcome
from ..projection import refusal
from . import knowledge_events
from .actions import Action, Answer, CallKey, CancelResponse, Create, EndWait, Refuse, RetryLater, Start, Stop
from .call_table import CallTable
from .client_view import ClientView
from .conversation_rules import ConversationRules
from .dialects import Dialect
from .memory import SessionMemory
from .tool_offer import ToolOffer
from .wire import error_event

Event = dict[str, Any]

OUR_EVENTS = "event_earpiece_"
_SUPERSEDED = "The user has moved on. Do not answer this."
_BUSY = "conversation_already_has_active_response"
_BUSY_SENTENCE = "Conversation already has an active response in progress. Wait until it is done."


class Outlet(Protocol):
    """Takes events in order and never waits."""

    def put(self, event: Event) -> None: ...


class Retrievals(Protocol):
    """Begins and stops retrievals; their outcomes come back through `SessionCore.settled`, later."""

    def start(self, key: CallKey, arguments: str, turn_id: str) -> None: ...

    def stop(self, key: CallKey, *, for_good: bool = False) -> None: ...


@dataclass(slots=True)
class Surroundings:
    """What a session reaches of the world outside: where it sends, where it looks up, and a clock."""

    client: Outlet
    retrievals: Retrievals
    later: Callable[[float, Callable[[], None]], None]
    model: Outlet | None = None


class SessionCore:
    """One session. ``tells`` says that the client asked for the events of our calls."""

    def __init__(
        self,
        world: Surroundings,
        *,
        dialect: Dialect,
        tool: dict[str, Any] | None,
        tells: bool = False,
        session_id: str = "",
    ) -> None:
        self.world = world
        self.dialect = dialect
        self.session_id = session_id
        self.offer = ToolOffer(tool)
        self.table = CallTable()
        self.view = ClientView(self.offer)
        self.rules = ConversationRules()
        self.memory = SessionMemory()
        self.tells = tells
        self._acknowledgements: deque[bool] = deque()
        self._turns: dict[CallKey, str] = {}
        self._serial = 0

    def to_client(self, events: Iterable[Event]) -> None:
        """Send events to the client."""
        for event in events:
            self.world.client.put(event)

    def to_model(self, event: Event) -> None:
        """Send an event to the model in its dialect; there may be no connection just now."""
        if self.world.model is not None:
            for translated in self.dialect.to_model(event):
                self.world.model.put(translated)

    def tell(self, event: Event) -> None:
        """Send an event beside the protocol, to a client that asked for such."""
        if self.tells:
            self.to_client([{**event, "event_id": self.event_id()}])

    def open(self) -> None:
        """Tell a new connection of our tool, and of what was set and said on the one before."""
        opening = self.offer.opening(self.memory.settings)
        if opening is not None:
            self.update_session(opening, ours=True)
        for event in self.memory.replay():
            self.view.hide_item(event["item"]["id"])
            self.to_model({**event, "event_id": self.event_id()})

    def update_session(self, event: Event, *, ours: bool) -> None:
        """Send a ``session.update``, and remember whose its acknowledgement will be."""
        self._acknowledgements.append(ours)
        self.to_model({**event, "event_id": self.event_id()} if ours else event)

    def take_rules(self, session: Mapping[str, Any]) -> None:
        """Follow what a session says about interruptions."""
        self.rules.update(session)
        self.table.slot.model_answers = self.rules.model_answers

    def acknowledged(self) -> bool:
        """A ``session.updated`` came: say whether the client is to see it."""
        return not (self._acknowledgements and self._acknowledgements.popleft())

    def lost(self) -> None:
        """The connection is gone: fail here what was under way there."""
        self._acknowledgements.clear()
        self.perform(self.table.connection_lost())
        self.to_client(self.view.connection_lost())

    def is_ours(self, event_id: object) -> bool:
        """Say whether this is the id of an event that the gateway sent by itself."""
        return isinstance(event_id, str) and event_id.startswith(OUR_EVENTS)

    def event_id(self) -> str:
        self._serial += 1
        return f"{OUR_EVENTS}s{self._serial}"

    def settled(self, key: CallKey, outcome: ToolOutcome, elapsed_milliseconds: float) -> None:
        """A retrieval that was not stopped has ended."""
        turn_id = self._turns.pop(key, "")
        for event in knowledge_events.completed(key.call_id, turn_id, outcome, elapsed_milliseconds):
            self.tell(event)
        self.perform(self.table.settled(key, outcome.output))

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
                    self.world.later(seconds, self._retry)
                case EndWait(response_id, status, reason, metadata):
                    self.to_client(self.view.end_wait(response_id, status, reason, metadata))
                case Refuse(event):
                    self.to_client([error_event(_BUSY, _BUSY_SENTENCE, about=event.get("event_id"))])

    def _start(self, key: CallKey, arguments: str, turn: int) -> None:
        self._turns[key] = turn_id = f"turn_{turn}"
        self.world.retrievals.start(key, arguments, turn_id)
        self.tell(knowledge_events.started(key.call_id, turn_id, arguments))

    def _stop(self, key: CallKey, reason: str) -> None:
        self.world.retrievals.stop(key, for_good=reason == "connection_lost")
        self.tell(knowledge_events.superseded(key.call_id, self._turns.pop(key, ""), reason))

    def _answer(self, key: CallKey, output: str | None) -> None:
        text = refusal("superseded", _SUPERSEDED, retryable=False) if output is None else output
        item = {"type": "function_call_output", "call_id": key.call_id, "output": text}
        self.to_model({"type": "conversation.item.create", "event_id": self.event_id(), "item": item})

    def _retry(self) -> None:
        self.perform(self.table.retry())


__all__ = ["Outlet", "Retrievals", "SessionCore", "Surroundings"]
