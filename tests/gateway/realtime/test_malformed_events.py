"""Whatever either side sends, the session goes on."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.realtime import RealtimeErrorEvent

from gateway.realtime.actions import CallKey
from gateway.realtime.client_side import ClientSide
from gateway.realtime.dialects import DashScopeDialect, Dialect, OpenAIDialect
from gateway.realtime.model_side import FatalModelError, ModelSide
from gateway.realtime.session_core import SessionCore, Surroundings
from gateway.realtime.wire import encoded, parsed

TOOL = {"type": "function", "name": "knowledge", "parameters": {}}
FIELDS = [
    *["session", "tools", "response", "item", "id", "type", "name", "call_id", "item_id", "response_id", "status"],
    *["output", "content", "metadata", "arguments", "error", "code", "event_id", "previous_item_id", "role", "audio"],
    *["conversation", "turn_detection", "input", "modalities", "text", "output_index", "expires_at", "function"],
]
WORDS = st.sampled_from(["knowledge", "function_call", "message", "completed", "cancelled", "call_1", "item_1", "user"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3) | st.just("\ud83d") | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
KINDS = [
    *["session.update", "session.created", "session.updated", "response.create", "response.cancel", "error"],
    *["response.created", "response.done", "response.output_item.added", "response.output_item.done"],
    *["response.function_call_arguments.done", "conversation.item.create", "conversation.item.added"],
    *["conversation.item.created", "conversation.item.delete", "input_audio_buffer.append", "something.else"],
    *["input_audio_buffer.commit", "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"],
    *["conversation.item.input_audio_transcription.completed", "conversation.item.input_audio_transcription.delta"],
    *["response.output_text.done", "response.output_audio_transcript.done", "response.audio.delta"],
]
EVENTS = st.builds(
    lambda fields, kind: {**fields, "type": kind},
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    st.sampled_from(KINDS),
)


class Nowhere:
    """Takes everything and does nothing."""

    def put(self, event: dict[str, Any]) -> None:
        assert event["type"]
        encoded(event).encode()

    def start(self, key: CallKey, arguments: str, turn_id: str) -> None:
        assert key.call_id

    def stop(self, key: CallKey, *, for_good: bool = False) -> None:
        assert key.call_id

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        assert seconds > 0


def play(dialect: Dialect, events: list[tuple[bool, dict[str, Any]]]) -> None:
    """Give events to a session: true ones come from the model, others from the client."""
    nowhere = Nowhere()
    world = Surroundings(client=nowhere, retrievals=nowhere, later=nowhere.later, model=nowhere)
    core = SessionCore(world, dialect=dialect, tool=TOOL, tells=True)
    client, model = ClientSide(core), ModelSide(core)
    core.open()
    for from_model, sent in events:
        event = parsed(json.dumps(sent))
        assert event is not None
        try:
            model.take(event) if from_model else client.take(event)
        except FatalModelError:
            return
    core.lost()
    core.open()


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.tuples(st.booleans(), EVENTS), max_size=8))
def test_no_event_ends_a_session_by_its_shape(events: list[tuple[bool, dict[str, Any]]]) -> None:
    """Fields that are missing, of another kind, or where nobody expects them: nothing is raised."""
    play(OpenAIDialect(), events)


@settings(max_examples=800, deadline=None)
@given(st.lists(st.tuples(st.booleans(), EVENTS), max_size=8))
def test_nor_does_it_in_the_other_dialect(events: list[tuple[bool, dict[str, Any]]]) -> None:
    """The translation is no weaker than what it translates for."""
    play(DashScopeDialect(), events)


class Client(Nowhere):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def put(self, event: dict[str, Any]) -> None:
        super().put(event)
        self.events.append(event)


USER = {"type": "message", "role": "user"}
WRONG: list[dict[str, Any]] = [
    *[{"type": "response.create", "response": value} for value in (5, "x", [5], True)],
    *[{"type": "response.create", "response": {"metadata": value}} for value in (5, "x", [5])],
    *[{"type": "conversation.item.create", "item": {**USER, "content": value}} for value in (5, "hi", [5, None])],
]


@pytest.mark.parametrize("event", WRONG)
def test_a_client_is_told_what_cannot_be_right(event: dict[str, Any]) -> None:
    """An error as the protocol has it, about this event, and nothing that is waited for because of it."""
    client, nowhere = Client(), Nowhere()
    world = Surroundings(client=client, retrievals=nowhere, later=nowhere.later, model=nowhere)
    core = SessionCore(world, dialect=OpenAIDialect(), tool=TOOL)
    ClientSide(core).take({**event, "event_id": "mine"})
    (error,) = client.events
    told = RealtimeErrorEvent.model_validate(error)
    assert (told.error.code, told.error.event_id) == ("invalid_event", "mine")
    assert core.table.idle


@pytest.mark.parametrize("event_id", [5, {"a": 1}, None])
def test_an_error_of_the_gateway_has_the_shape_of_the_protocol(event_id: object) -> None:
    """Also about an event whose own id is none."""
    client, nowhere = Client(), Nowhere()
    core = SessionCore(
        Surroundings(client=client, retrievals=nowhere, later=nowhere.later), dialect=OpenAIDialect(), tool=TOOL
    )
    ClientSide(core).take({**WRONG[0], "event_id": event_id})
    ClientSide(core).take({"type": "session.update", "event_id": event_id, "session": {"tools": [TOOL]}})
    first, second = (RealtimeErrorEvent.model_validate(event) for event in client.events)
    assert first.event_id != second.event_id


@pytest.mark.parametrize("metadata", [5, "x", [5]])
def test_a_response_with_odd_metadata_runs_and_ends(metadata: object) -> None:
    """The slot is taken and freed again, and the client sees a response of the right shape."""
    client, nowhere = Client(), Nowhere()
    world = Surroundings(client=client, retrievals=nowhere, later=nowhere.later, model=nowhere)
    core = SessionCore(world, dialect=OpenAIDialect(), tool=TOOL)
    model = ModelSide(core)
    ClientSide(core).take({"type": "response.create", "event_id": "mine"})
    model.take({"type": "response.created", "response": {"id": "r1", "output": [], "metadata": metadata}})
    assert core.table.slot.active == {"r1"}
    model.take({"type": "response.done", "response": {"id": "r1", "output": [], "status": "completed"}})
    assert [event["type"] for event in client.events] == ["response.created", "response.done"]
    assert client.events[0]["response"]["metadata"] is None
    assert core.table.idle
