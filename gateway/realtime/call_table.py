"""Pure: the rules of tool calls in a live conversation, decided without I/O.

Every method takes one thing that happened and returns what to do about it, in order. The rules, each with a test:

1. every call is answered exactly once;
2. outputs go before the response that uses them, and only after the response that made the calls is done;
3. one follow-up for one origin response, never while another response runs or the user speaks;
4. what was superseded is answered as such, is never followed up, and a late result of it is dropped;
5. a follow-up that turns out stale is cancelled as soon as it appears;
6. where the client has calls of its own in the response, the follow-up is the client's;
7. after a lost connection nothing is sent for calls that the new session does not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .actions import Action, Answer, CallKey, CancelResponse, Create, EndWait, Refuse, RetryLater, Start, Stop
from .response_slot import FOLLOW_UP_MARK, Asked, ResponseSlot

MAX_FOLLOW_UPS = 5
MAX_ATTEMPTS = 4
REMEMBERED_CALLS = 1024
_NOT_INHERITED = ("conversation", "input", "tool_choice")

Showing = Literal["show", "swallow", "cancelled", "hide"]
"""What the client is to see of a finished response: it as it is, nothing yet, its cancellation, or nothing at all."""


@dataclass(slots=True)
class _Call:
    key: CallKey
    index: int
    state: Literal["open", "running", "settled", "superseded"] = "open"
    output: str | None = None


@dataclass(slots=True)
class _Response:
    id: str
    turn: int
    depth: int = 0
    overrides: Mapping[str, Any] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    has_client_calls: bool = False
    done: bool = False
    shown: bool = False
    owed: bool = False
    superseded: bool = False
    stale: bool = False

    @property
    def running(self) -> bool:
        return any(call.state in ("open", "running") for call in self.calls.values())


class CallTable:
    """The calls, responses and follow-ups of one session."""

    def __init__(self) -> None:
        self.slot = ResponseSlot()
        self.turn = 1
        self._responses: dict[str, _Response] = {}
        self._known_calls: dict[CallKey, bool] = {}
        self._ended: dict[str, None] = {}
        self._follow_up: Asked | None = None
        self._parked: Asked | None = None
        self._serial = 0

    # --- what the model's side says

    def response_created(self, response_id: str, metadata: Mapping[str, Any] | None = None) -> list[Action]:
        """A response began. Cancels it at once when it is a follow-up that nobody wants any more."""
        asked = self.slot.created(response_id, metadata)
        response = self._response(response_id)
        claimed = self._claim() if asked is None or (asked.in_conversation and not asked.follow_up) else []
        if asked is None:
            return claimed
        response.turn, response.depth = asked.turn, asked.depth
        response.overrides = asked.event.get("response") or {}
        if not asked.stale:
            return claimed
        response.stale = response.superseded = True
        return [CancelResponse(response_id)]

    def call_seen(self, response_id: str, call_id: str, index: int = 0) -> list[Action]:
        """A call of ours began to appear; its arguments are still to come."""
        key = CallKey(response_id, call_id)
        if key in self._known_calls:
            return []
        self._remember(key, ours=True)
        if response_id in self._ended:
            return [Answer(key, None)]  # nothing waits for a call that is told of after the end
        response = self._response(response_id)
        state: Literal["open", "superseded"] = "superseded" if response.superseded else "open"
        response.calls[call_id] = _Call(key, index, state)
        return []

    def call_complete(self, response_id: str, call_id: str, arguments: str, index: int = 0) -> list[Action]:
        """The arguments of a call of ours are complete: begin, once, unless it is superseded already."""
        late = self.call_seen(response_id, call_id, index)
        response = self._responses.get(response_id)
        call = response.calls.get(call_id) if response else None
        if response is None or call is None or call.state != "open":
            return late
        call.state = "running"
        return [Start(call.key, arguments, response.turn)]

    def client_call_seen(self, response_id: str, call_id: str) -> None:
        """The response also calls a tool of the client."""
        key = CallKey(response_id, call_id)
        if key not in self._known_calls:
            self._remember(key, ours=False)
            if response_id not in self._ended:
                self._response(response_id).has_client_calls = True

    def response_done(self, response_id: str, status: str, *, shown: bool = False) -> tuple[Showing, list[Action]]:
        """A response ended. ``shown`` says whether the client has seen anything of it."""
        self.slot.done(response_id)
        response = self._response(response_id)
        response.done, response.shown = True, shown
        actions: list[Action] = []
        if status in ("cancelled", "failed"):
            actions += self._drop_calls(response)
        for call in response.calls.values():
            if call.state == "open":
                call.state = "running"
                actions.append(Start(call.key, "", response.turn))
        waits = bool(response.calls) and not response.superseded
        response.owed = waits and not shown and not response.has_client_calls
        actions += self._settle(response)
        return self._showing(response, status), actions

    def speech_started(self, *, interrupts: bool = True) -> list[Action]:
        """The user began to speak; ``interrupts`` is what the client set for its session."""
        self.slot.speaking = True
        self.turn += 1
        return self._supersede("turn_detected") if interrupts else []

    def speech_stopped(self) -> list[Action]:
        """The user stopped; where the model answers by itself, it is given a moment to begin."""
        self.slot.speaking = False
        self.slot.answer_due = self.slot.model_answers
        if self._follow_up and self.slot.model_answers:
            return [RetryLater(1.0)]
        return self._drive()

    def rejected(self, event_id: str, *, busy: bool) -> list[Action]:
        """The model refused a ``response.create`` of ours; ``busy`` means that it may be asked again."""
        asked = self.slot.rejected(event_id)
        if asked is None or not asked.follow_up or asked.stale:
            return self._drive()
        if not busy or asked.attempts >= MAX_ATTEMPTS:
            return [EndWait(asked.owed_for, "failed", "follow_up_refused"), *self._drive()]
        asked.attempts += 1
        actions, self._follow_up = self._claim(), asked
        return [*actions, *([RetryLater(0.2 * 2**asked.attempts)] if self.slot.free else [])]

    def overdue(self, event: Mapping[str, Any]) -> list[Action]:
        """The model has neither begun nor refused what was asked with this event: it is not waited for any longer."""
        asked = next((asked for asked in self.slot.asked if asked.event is event), None)
        if asked is None:
            return []
        self.slot.asked.remove(asked)
        waits = asked.follow_up and not asked.stale
        return [*([EndWait(asked.owed_for, "failed", "follow_up_refused")] if waits else []), *self._drive()]

    def connection_lost(self) -> list[Action]:
        """The model's session is gone with all it knew: fail everything here, send nothing."""
        running = [call for response in self._responses.values() for call in response.calls.values()]
        actions: list[Action] = [Stop(call.key, "connection_lost") for call in running if call.state == "running"]
        asked = [asked for asked in self.slot.asked if not asked.follow_up]
        actions += self._end_waits("failed", "connection_lost")
        actions += [EndWait(None, "failed", "connection_lost", one.metadata) for one in asked]
        # The next session may count from the beginning again.
        self._responses.clear()
        self._known_calls.clear()
        self._ended.clear()
        self.slot = replace(self.slot, asked=[], active=set(), speaking=False, answer_due=False)
        return actions

    # --- what the client says

    def client_create(self, event: Mapping[str, Any]) -> list[Action]:
        """The client asks for a response; held back while outputs are still to come."""
        asked = Asked(event, follow_up=False, turn=self.turn)
        waiting = [response for response in self._responses.values() if self._waits(response)]
        if asked.in_conversation and self._follow_up and self._follow_up.owed_for:
            return [Refuse(event)]
        if not asked.in_conversation or not waiting:
            return [*(self._claim() if asked.in_conversation else []), *self._ask(asked)]
        if self._parked or not all(response.done and not response.owed for response in waiting):
            return [Refuse(event)]
        self._parked = asked
        return []

    def client_cancel(self, response_id: str | None = None) -> tuple[bool, list[Action]]:
        """The client cancels. Returns whether the model is to be told, and what else to do."""
        ours = [response for response in self._responses.values() if self._waits(response)]
        pending = self._follow_up or self._parked or any(asked.follow_up for asked in self.slot.asked)
        concerned = response_id is None or any(response.id == response_id for response in ours)
        theirs = any(not asked.follow_up for asked in self.slot.asked)
        tell = bool(self.slot.active or theirs) or not (ours or pending) or not concerned
        return tell, self._supersede("client_cancelled") if concerned or response_id in self.slot.active else []

    def user_message(self) -> None:
        """The user wrote something: a new turn, for budgets and citations."""
        self.turn += 1

    def knows(self, key: CallKey) -> bool:
        """Say whether this is a call of ours that has been seen."""
        return self._known_calls.get(key, False)

    def owns(self, call_id: str) -> bool:
        """Say whether the last call of this id is ours, so that nobody else answers it."""
        latest = (ours for key, ours in reversed(self._known_calls.items()) if key.call_id == call_id)
        return next(latest, False)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way and nothing is promised."""
        asked = any(not asked.stale for asked in self.slot.asked)
        return not (self._responses or asked or self.slot.active or self._follow_up or self._parked)

    # --- what we do ourselves

    def settled(self, key: CallKey, output: str) -> list[Action]:
        """A retrieval ended. What nobody waits for any more is dropped here."""
        response = self._responses.get(key.response_id)
        call = response.calls.get(key.call_id) if response else None
        if response is None or call is None or call.state != "running":
            return []
        call.state, call.output = "settled", output
        return self._settle(response) if response.done else []

    def retry(self) -> list[Action]:
        """The time that `RetryLater` asked for has passed."""
        return self._drive()

    def close(self) -> list[Action]:
        """The session ends: stop whatever still runs."""
        actions = [action for action in self.connection_lost() if isinstance(action, Stop)]
        return [Stop(action.key, "superseded") for action in actions]

    # --- the rules

    def _response(self, response_id: str) -> _Response:
        return self._responses.setdefault(response_id, _Response(response_id, self.turn))

    def _remember(self, key: CallKey, *, ours: bool) -> None:
        self._known_calls[key] = ours
        if len(self._known_calls) > REMEMBERED_CALLS:
            del self._known_calls[next(iter(self._known_calls))]

    def _end(self, response_id: str) -> None:
        del self._responses[response_id]
        self._ended[response_id] = None
        if len(self._ended) > REMEMBERED_CALLS:
            del self._ended[next(iter(self._ended))]

    @staticmethod
    def _waits(response: _Response) -> bool:
        return bool(response.calls) and not response.superseded

    @staticmethod
    def _showing(response: _Response, status: str) -> Showing:
        if response.stale:
            return "hide"
        if response.superseded and not response.shown and status == "completed":
            return "cancelled"
        return "swallow" if response.owed else "show"

    def _settle(self, response: _Response) -> list[Action]:
        """Once a response is done and none of its calls runs: answer them all, then see to the follow-up."""
        if response.running:
            return []
        actions: list[Action] = self._answers(response)
        self._end(response.id)
        if self._waits(response) and not response.has_client_calls:
            actions += self._claim()
            self._follow_up = self._follow_up_of(response)
        return actions + self._drive()

    @staticmethod
    def _answers(response: _Response) -> list[Action]:
        calls = sorted(response.calls.values(), key=lambda call: call.index)
        return [Answer(call.key, call.output if call.state == "settled" else None) for call in calls]

    def _follow_up_of(self, response: _Response) -> Asked:
        self._serial += 1
        event_id = f"event_earpiece_{self._serial}"
        inherited = {name: value for name, value in response.overrides.items() if name not in _NOT_INHERITED}
        metadata = {**(inherited.get("metadata") or {}), FOLLOW_UP_MARK: event_id}
        # A choice that forces a tool would call it for ever; a chain that is long enough must end in words.
        choice = "none" if response.depth + 1 >= MAX_FOLLOW_UPS else "auto"
        body = {**inherited, "metadata": metadata, "tool_choice": choice}
        event = {"type": "response.create", "event_id": event_id, "response": body}
        owed_for = response.id if response.owed else None
        return Asked(event, follow_up=True, turn=response.turn, depth=response.depth + 1, owed_for=owed_for)

    def _drive(self) -> list[Action]:
        """Ask for the response that is due, if any, as soon as nothing stands in its way."""
        if any(self._waits(response) for response in self._responses.values()):
            return []
        if self._parked is not None:
            parked, self._parked, self._follow_up = self._parked, None, None
            return self._ask(parked)
        if self._follow_up is not None and self.slot.free:
            due, self._follow_up = self._follow_up, None
            return self._ask(due)
        return []

    def _claim(self) -> list[Action]:
        """Another response than ours uses the outputs: the follow-up that was still to come is not needed."""
        claimed, self._follow_up = self._follow_up, None
        return [EndWait(claimed.owed_for, "cancelled", "superseded")] if claimed and claimed.owed_for else []

    def _ask(self, asked: Asked) -> list[Action]:
        self.slot.ask(asked)
        return [Create(asked.event)]

    def _drop_calls(self, response: _Response) -> list[Action]:
        """Supersede a response: its calls are stopped and will be answered as superseded."""
        response.superseded = True
        stopped: list[Action] = [
            Stop(call.key, "superseded") for call in response.calls.values() if call.state == "running"
        ]
        for call in response.calls.values():
            call.state = "settled" if call.state == "settled" else "superseded"
        return stopped

    def _supersede(self, reason: str) -> list[Action]:
        actions: list[Action] = []
        for response in list(self._responses.values()):
            actions += self._drop_calls(response)
        actions += self._end_waits("cancelled", reason)
        for response in list(self._responses.values()):
            if response.done:
                actions += self._settle(response)
        return actions

    def _end_waits(self, status: str, reason: str) -> list[Action]:
        """Nothing that was promised will come: tell the client, and mark what is under way as stale."""
        owed = [response.id for response in self._responses.values() if response.owed]
        for asked in self.slot.asked:
            if asked.follow_up and not asked.stale:
                asked.stale = True
                owed += [asked.owed_for] if asked.owed_for else []
        owed += [self._follow_up.owed_for] if self._follow_up and self._follow_up.owed_for else []
        actions: list[Action] = [EndWait(response_id, status, reason) for response_id in owed]
        actions += [EndWait(None, status, reason, self._parked.metadata)] if self._parked else []
        self._follow_up = self._parked = None
        return actions


__all__ = ["CallTable", "Showing"]
