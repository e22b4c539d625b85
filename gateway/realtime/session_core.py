"""What both sides of a session share: the pure parts, and the doing of what they decide.

Nothing here waits or needs an event loop: what is to be sent is put on a lane, what is to be retrieved is begun.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from ..knowledge_tool import ToolOutcome
from ..projection import refusal
from ..speculation import PrefetchCounts
from . import knowledge_events
from .actions import Action, Answer, CallKey, CancelResponse, Create, EndWait, Refuse, RetryLater, Start, Stop
from .call_table import CallTable
from .client_view import ClientView
from .conversation_rules import ConversationRules
from .dialects import Dialect
from .ears import Ears
from .holding import Holding, holding_response
from .memory import SessionMemory
from .tool_offer import ToolOffer
from .turn_times import TurnTimes
from .wire import error_event

Event = dict[str, Any]

OUR_EVENTS = "event_earpiece_"
ASKED_SECONDS = 30.0
"""How long a response that was asked for may take to begin or to be refused, before it is not waited for."""
HOLDING_SECONDS = 5.0
"""How long an answer waits at most for a holding sentence to be over."""

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
    """What a session reaches of the world outside: where it sends, where it looks up, a clock, and who listens in."""

    client: Outlet
    retrievals: Retrievals
    later: Callable[[float, Callable[[], None]], None]
    model: Outlet | None = None
    ears: Ears | None = None
    times: TurnTimes | None = None
    prefetched: Callable[[], PrefetchCounts] = PrefetchCounts


class SessionCore:
    """One session. ``tells`` says that the client asked for the events of our calls.

    A lookup of ``slow_seconds`` is told of (never, at 0), and spoken of where ``holds`` is set. The user's speech is
    written down by ``transcription_model`` where the client asks for no other.
    """

    def __init__(
        self,
        world: Surroundings,
        *,
        dialect: Dialect,
        tool: dict[str, Any] | None,
        tells: bool = False,
        session_id: str = "",
        slow_seconds: float = 0.0,
        holds: bool = False,
        transcription_model: str = "",
    ) -> None:
        self.world = world
        self.dialect = dialect
        self.session_id = session_id
        self.offer = ToolOffer(tool)
        self.table = CallTable()
        self.view = ClientView(self.offer)
        self.rules = ConversationRules()
        self.memory = SessionMemory()
        if transcription_model:
            self.memory.updated({"audio": {"input": {"transcription": {"model": transcription_model}}}})
        self.holding = Holding(holds)
        self.tells = tells
        self._slow_seconds = slow_seconds
        self._late: list[tuple[CallKey, str]] = []
        self._acknowledgements: deque[bool] = deque()
        self._turns: dict[CallKey, str] = {}
        self._serial = 0

    def to_client(self, events: Iterable[Event]) -> None:
        """Send events to the client. An error gets an id, as every event of the protocol has one."""
        for event in events:
            unnamed = event["type"] == "error" and not event.get("event_id")
            self.world.client.put({**event, "event_id": self.event_id()} if unnamed else event)

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
        self.holding.over()
        self._late.clear()
        self.perform(self.table.connection_lost())
        self.to_client(self.view.connection_lost())

    @property
    def turn_id(self) -> str:
        return f"turn_{self.table.turn}"

    def listen(self, event: Event) -> None:
        """Let those who listen in have an event of the model."""
        for listener in (self.world.ears, self.world.times):
            if listener is not None:
                listener.take(event)

    def user_finished(self) -> None:
        """The user has stopped speaking or has sent a text; from here on the answer is waited for."""
        if self.world.times is not None:
            self.world.times.asked(self.turn_id)

    def prefetching(self, query: str) -> None:
        """Something is looked up ahead of the model's call."""
        self._mark("prefetch", self.turn_id)
        self.tell(knowledge_events.prefetch(self.turn_id, query))

    def end(self) -> None:
        """The session is over: stop whatever still runs, and whoever listens in."""
        self.perform(self.table.close())
        if self.world.ears is not None:
            self.world.ears.close()
        if self.world.times is not None:
            self.world.times.end()

    def holding_over(self) -> None:
        """The holding sentence was said, refused or lost: what waited for it goes on."""
        self.holding.over()
        late, self._late = self._late, []
        for key, output in late:
            self.perform(self.table.settled(key, output))

    def is_ours(self, event_id: object) -> bool:
        """Say whether this is the id of an event that the gateway sent by itself."""
        return isinstance(event_id, str) and event_id.startswith(OUR_EVENTS)

    def event_id(self) -> str:
        self._serial += 1
        return f"{OUR_EVENTS}s{self._serial}"

    def settled(self, key: CallKey, outcome: ToolOutcome, elapsed_milliseconds: float) -> None:
        """A retrieval that was not stopped has ended."""
        turn_id = self._turns.pop(key, "")
        self.holding.ended(key)
        self._mark("result", turn_id)
        counts = self.world.prefetched()
        for event in knowledge_events.completed(key.call_id, turn_id, outcome, elapsed_milliseconds, counts):
            self.tell(event)
        if self.holding.in_the_way:
            self._late.append((key, outcome.output))
        else:
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
                    self._create(event)
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
        if self.world.ears is not None:
            self.world.ears.asked()
        self.holding.began(key)
        self._mark("call", turn_id)
        with self.world.times.within(turn_id) if self.world.times is not None else nullcontext():
            self.world.retrievals.start(key, arguments, turn_id)
        if self._slow_seconds:
            self.world.later(self._slow_seconds, lambda: self._slow(key))
        self.tell(knowledge_events.started(key.call_id, turn_id, arguments))

    def _create(self, event: Mapping[str, Any]) -> None:
        self.to_model(dict(event))
        self.world.later(ASKED_SECONDS, lambda: self.perform(self.table.overdue(event)))

    def _slow(self, key: CallKey) -> None:
        if not self.holding.is_slow(key):
            return
        turn_id = self._turns.get(key, "")
        self.tell(knowledge_events.slow(key.call_id, turn_id, self._slow_seconds * 1000))
        if self.world.model is not None and self.holding.wants_sentence(turn_id, silent=self.table.slot.free):
            event_id = self.event_id()
            self.holding.asked(event_id)
            self.to_model(holding_response(event_id))
            self.world.later(HOLDING_SECONDS, lambda: self._end_holding(event_id))

    def _end_holding(self, event_id: str) -> None:
        if self.holding.is_about(event_id):
            self.holding_over()

    def _mark(self, name: str, turn_id: str) -> None:
        if self.world.times is not None:
            self.world.times.mark(name, turn_id)

    def _stop(self, key: CallKey, reason: str) -> None:
        self.holding.ended(key)
        self.world.retrievals.stop(key, for_good=reason == "connection_lost")
        self.tell(knowledge_events.superseded(key.call_id, self._turns.pop(key, ""), reason))

    def _answer(self, key: CallKey, output: str | None) -> None:
        text = refusal("superseded", _SUPERSEDED, retryable=False) if output is None else output
        item = {"type": "function_call_output", "call_id": key.call_id, "output": text}
        self.to_model({"type": "conversation.item.create", "event_id": self.event_id(), "item": item})
        if output is not None:
            self._mark("delivered", self.turn_id)

    def _retry(self) -> None:
        self.perform(self.table.retry())


__all__ = ["Outlet", "Retrievals", "SessionCore", "Surroundings"]
