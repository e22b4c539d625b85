"""Everything around one session core, simulated, with the rules of a conversation checked where events are sent.

The checks are made against what the gateway could have known at that moment.
"""

import json
from collections import deque
from collections.abc import Callable

from gateway.knowledge_tool import ToolOutcome
from gateway.realtime.actions import CallKey
from gateway.realtime.client_side import ClientSide
from gateway.realtime.dialects import OpenAIDialect
from gateway.realtime.model_side import ModelSide
from gateway.realtime.response_slot import FOLLOW_UP_MARK
from gateway.realtime.session_core import ASKED_SECONDS, SessionCore, Surroundings
from tests.gateway.realtime.strict_model import Event, StrictModel

TOOL = {"type": "function", "name": "knowledge", "parameters": {"type": "object", "properties": {}}}


class World:
    """Everything around one session core, and the checks of its rules."""

    def __init__(self, choices: bytes) -> None:
        self.choices = deque(choices)
        flags = self.choose(32)
        # Who tells neither which response is whose nor what an error is about leaves too much to be guessed.
        names = not flags & 1 or not flags & 16
        self.model = StrictModel(self.choose, echoes=bool(flags & 1), vad=bool(flags & 2), names=names)
        self.model.interrupts = not flags & 8
        self.up: deque[Event] = deque()
        self.seen: list[Event] = []
        self.retrievals: dict[CallKey, str] = {}
        self.timers: list[Callable[[], None]] = []
        self.bounds: list[Callable[[], None]] = []
        self.generation = 0
        self.guesses = False
        self.speaking = False
        self.active: set[str] = set()
        self.done: set[str] = set()
        self.superseded: set[str] = set()
        self.known_calls: dict[str, str] = {}
        self.answered: set[str] = set()
        self.their_calls: dict[str, list[str]] = {}
        self.our_creates: dict[str, int] = {}
        self.in_flight: set[str] = set()
        self.stale_responses: set[str] = set()
        self.due: list[str] = []
        self.client_creates: set[str] = set()
        self.client_cancels = 0
        world = Surroundings(client=self, retrievals=self, later=self.later)
        tells = bool(flags & 4)
        self.core = SessionCore(world, dialect=OpenAIDialect(), tool=TOOL, tells=tells, session_id="s")
        self.core.world.model = ModelOutlet(self)
        self.client_side, self.model_side = ClientSide(self.core), ModelSide(self.core)
        self.core.open()
        self.exchange()

    def exchange(self) -> None:
        """Begin with one plain turn, from which the core learns whether this model gives metadata back."""
        choices, self.choices = self.choices, deque()
        self.client_creates_response()
        for _ in range(20):
            self.model_takes()
            self.model.progress()
            self.deliver()
        self.choices = choices

    def choose(self, count: int) -> int:
        return self.choices.popleft() % count if self.choices else 0

    # --- what the core does

    def put(self, event: Event) -> None:
        """The client is sent an event."""
        self.seen.append(event)
        text = json.dumps(event)
        assert '"knowledge"' not in text or event["type"].startswith("knowledge."), "an item of ours is shown"
        assert FOLLOW_UP_MARK not in text
        response = event.get("response")
        response_id = response["id"] if isinstance(response, dict) else event.get("response_id")
        assert response_id not in self.stale_responses, "something stale is shown"
        if event["type"] == "response.done" and event["response"]["status"] == "completed":
            assert event["response"]["output"], "a response is shown that holds nothing for the client"

    def start(self, key: CallKey, arguments: str, turn_id: str) -> None:
        assert key not in self.retrievals, "a call is begun twice"
        assert key.response_id not in self.superseded, "something superseded is begun"
        self.retrievals[key] = "running"

    def stop(self, key: CallKey, *, for_good: bool = False) -> None:
        assert self.retrievals[key] == "running"
        self.retrievals[key] = "stopped"

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        (self.bounds if seconds >= ASKED_SECONDS else self.timers).append(do)

    def sent(self, event: Event) -> None:
        """The model is sent an event: most rules are checked here."""
        if event["type"] == "conversation.item.create" and event["item"]["type"] == "function_call_output":
            self.check_output(event["item"]["call_id"], event["item"]["output"])
        if event["type"] == "response.create":
            assert not self.due_outputs(), "a response is asked for before all outputs are sent"
            ours = self.core.is_ours(event.get("event_id"))
            if ours:
                self.check_follow_up(event)
            self.due.clear()
            self.in_flight.add(event["event_id"])
        if event["type"] == "response.cancel" and self.core.is_ours(event["event_id"]):
            # Where the model does not tell which response is whose, the gateway's judgement stands.
            assert event["response_id"] in self.stale_responses or self.guesses
            self.superseded.add(event["response_id"])
        self.up.append(event)

    def due_outputs(self) -> list[str]:
        """Our calls in finished responses that still miss their output."""
        open_calls = [call for call, response in self.known_calls.items() if response in self.done]
        return [call for call in open_calls if call not in self.answered]

    def check_output(self, call_id: str, output: str) -> None:
        if call_id not in self.known_calls:
            assert not self.model.calls.get(call_id, {}).get("ours"), "an output for a call nobody knows of"
            return
        assert call_id not in self.answered, "a call is answered twice"
        assert self.known_calls[call_id] in self.done, "an output comes before its response is done"
        fresh = json.loads(output)["status"] != "superseded"
        key = CallKey(self.known_calls[call_id], call_id)
        assert not fresh or self.retrievals.get(key) == "settled", "a late result is sent as fresh"
        self.answered.add(call_id)

    def check_follow_up(self, event: Event) -> None:
        assert not self.speaking, "a follow-up while the user speaks"
        assert not self.active, "a follow-up while another response runs"
        assert not self.in_flight, "a follow-up while another response was asked for"
        assert len(self.due) == 1, "a follow-up that no response is waiting for"
        self.our_creates[event["event_id"]] = self.generation

    # --- what happens

    def supersede(self) -> None:
        self.generation += 1
        self.superseded |= self.active | self.done
        self.due.clear()
        self.in_flight -= set(self.our_creates)

    def deliver(self) -> None:
        if not self.model.wire:
            return
        event = self.model.wire.popleft()
        before = self.note(event)
        self.model_side.take(event)
        if before is not None:
            before()

    def note(self, event: Event) -> Callable[[], None] | None:
        """Keep account of what the gateway is about to know."""
        match event["type"]:
            case "response.created":
                self.note_created(event["response"])
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                if event["item"]["name"] == "knowledge":
                    self.known_calls[event["item"]["call_id"]] = event["response_id"]
                else:
                    self.their_calls.setdefault(event["response_id"], []).append(event["item"]["call_id"])
            case "response.done":
                self.note_done(event["response"])
            case "input_audio_buffer.speech_started":
                self.speaking = True
                if self.model.interrupts:
                    self.supersede()
            case "input_audio_buffer.speech_stopped":
                self.speaking = False
                self.guesses |= self.model.vad and not self.model.echoes
            case "error":
                self.note_error(event["error"]["code"], str(event["really_about"]))
        return None

    def note_created(self, response: Event) -> None:
        asked = (response.get("metadata") or {}).get(FOLLOW_UP_MARK)
        # Where nobody tells, an answer of the model's own to what was said may be taken for another response.
        really = "" if self.guesses else self.model.led_to[response["id"]]
        if really in self.our_creates and self.our_creates[really] != self.generation:
            self.stale_responses.add(response["id"])
        self.active.add(response["id"])
        if asked is None:
            self.due.clear()
        if self.model.echoes:
            marks = {asked, (response.get("metadata") or {}).get("n")}
            self.in_flight -= marks
        else:
            self.in_flight.clear()
        if response["id"] in self.stale_responses:
            self.superseded.add(response["id"])

    def note_done(self, response: Event) -> None:
        self.active.discard(response["id"])
        self.done.add(response["id"])
        ours = [call for call, owner in self.known_calls.items() if owner == response["id"]]
        if response["status"] == "cancelled":
            self.superseded.add(response["id"])
        elif ours and response["id"] not in self.superseded and response["id"] not in self.their_calls:
            self.due = [response["id"]]

    def note_error(self, code: str, event_id: str) -> None:
        fresh = event_id in self.in_flight and self.our_creates.get(event_id) == self.generation
        self.in_flight.discard(event_id)
        if fresh and code != "server_error":
            self.due = ["again"]

    def client(self, event: Event) -> None:
        self.client_side.take(event)

    def client_creates_response(self) -> None:
        event_id = f"client_{len(self.client_creates)}"
        self.client_creates.add(event_id)
        self.client({"type": "response.create", "event_id": event_id, "response": {"metadata": {"n": event_id}}})

    def client_cancels_response(self) -> None:
        self.supersede()
        self.client({"type": "response.cancel", "event_id": "client_cancel"})

    def client_answers(self) -> None:
        ready = [response for response in self.their_calls if response in self.done]
        for response in ready:
            for call_id in self.their_calls.pop(response):
                item = {"type": "function_call_output", "call_id": call_id, "output": '{"status": "ok"}'}
                self.client({"type": "conversation.item.create", "item": item})
        if ready:
            self.client_creates_response()

    def client_writes(self) -> None:
        content = [{"type": "input_text", "text": "and then?"}]
        item = {"type": "message", "role": "user", "content": content}
        self.client({"type": "conversation.item.create", "item": item})

    def settle(self, *, late: bool = False) -> None:
        wanted = "stopped" if late else "running"
        keys = [key for key, state in self.retrievals.items() if state == wanted]
        if keys:
            key = keys[self.choose(len(keys))]
            self.retrievals[key] = "late" if late else "settled"
            self.core.settled(key, ToolOutcome("ok", '{"status": "ok"}'), 1.0)

    def fire(self) -> None:
        if self.timers:
            self.timers.pop(self.choose(len(self.timers)))()

    def model_takes(self) -> None:
        if self.up:
            self.model.take(self.up.popleft())

    def disconnect(self) -> None:
        fresh = StrictModel(self.choose, echoes=self.model.echoes, vad=self.model.vad, names=self.model.names)
        fresh.interrupts, fresh._serial = self.model.interrupts, self.model._serial
        self.model = fresh
        self.up.clear()
        self.active.clear()
        self.in_flight.clear()
        self.due.clear()
        self.known_calls.clear()
        self.their_calls.clear()
        self.speaking = False
        self.core.world.model = None
        self.core.lost()
        assert "running" not in self.retrievals.values()
        self.core.world.model = ModelOutlet(self)
        self.core.open()

    def refuse_next(self) -> None:
        self.model.reject_next = ("conversation_already_has_active_response", "server_error")[self.choose(2)]

    def flow(self) -> None:
        """Everything moves on a little, as it does most of the time."""
        self.model_takes()
        for _ in range(1 + self.choose(4)):
            self.model.progress()
            self.deliver()

    def step(self) -> None:
        steps: list[Callable[[], None]] = [
            *[self.flow] * 8,
            *[self.deliver] * 3,
            *[self.model_takes] * 2,
            *[self.model.progress] * 2,
            *[self.settle] * 4,
            lambda: self.settle(late=True),
            self.model.speech,
            self.client_creates_response,
            self.client_creates_response,
            self.client_cancels_response,
            self.client_answers,
            self.client_writes,
            self.fire,
            self.refuse_next,
        ]
        choice = self.choose(250)
        self.disconnect() if choice == 249 else steps[choice % len(steps)]()

    def come_to_rest(self) -> None:
        """Let everything that is under way end, as it would if nobody did anything more."""
        self.choices.clear()
        if self.model.speaking:
            self.model.speech()
        for _ in range(400):
            self.model_takes()
            self.deliver()
            self.model.progress()
            self.settle()
            self.settle(late=True)
            self.client_answers()
            self.fire()


class ModelOutlet:
    def __init__(self, world: World) -> None:
        self.world = world

    def put(self, event: Event) -> None:
        self.world.sent(event)
