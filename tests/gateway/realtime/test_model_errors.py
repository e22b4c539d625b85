"""What the gateway makes of an error of the model, also of one that does not say what it is about."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.actions import CallKey
from gateway.realtime.client_side import ClientSide
from gateway.realtime.dialects import OpenAIDialect
from gateway.realtime.model_side import FatalModelError, ModelSide
from gateway.realtime.session_core import ASKED_SECONDS, SessionCore, Surroundings

Event = dict[str, Any]
WORDS = st.sampled_from(["server_error", "invalid_value", "session_expired", "response", "item", "rate_limit_exceeded"])
ERRORS = st.dictionaries(
    st.sampled_from(["code", "type", "param", "message", "event_id"]),
    st.none() | st.integers(0, 3) | WORDS | st.sampled_from(["c1", "c2", "conversation_already_has_active_response"]),
)


class Session:
    """A session without sockets: what was sent to either side, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.client: list[Event] = []
        self.model: list[Event] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        world = Surroundings(client=Outlet(self.client), retrievals=self, later=self.later, model=Outlet(self.model))
        self.core = SessionCore(world, dialect=OpenAIDialect(), tool={"type": "function", "name": "knowledge"})
        self.client_side, self.model_side = ClientSide(self.core), ModelSide(self.core)

    def start(self, key: CallKey, arguments: str, turn_id: str) -> None:
        assert key.call_id

    def stop(self, key: CallKey, *, for_good: bool = False) -> None:
        assert key.call_id

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        self.timers.append((seconds, do))

    def create(self, event_id: str) -> None:
        self.client_side.take({"type": "response.create", "event_id": event_id})

    def answer(self, response_id: str) -> None:
        for kind, status in (("response.created", "in_progress"), ("response.done", "completed")):
            self.model_side.take({"type": kind, "response": {"id": response_id, "status": status, "output": []}})

    def fail(self, **error: Any) -> None:
        self.model_side.take({"type": "error", "event_id": "e", "error": error})

    def wait(self, seconds: float) -> None:
        due = [timer for timer in self.timers if timer[0] <= seconds]
        self.timers = [timer for timer in self.timers if timer[0] > seconds]
        for _, do in due:
            do()

    def seen(self) -> list[str]:
        return [event["type"] for event in self.client]


class Outlet:
    def __init__(self, events: list[Event]) -> None:
        self.put = events.append


def test_an_error_without_a_name_is_about_what_was_asked_for() -> None:
    """The request that failed is not waited for, and the next is answered as usual."""
    session = Session()
    session.create("c1")
    session.fail(code="server_error")
    assert session.core.table.idle
    session.create("c2")
    session.answer("r1")
    assert session.core.table.idle
    assert session.seen() == ["error", "response.created", "response.done"]


@pytest.mark.parametrize("error", [{"code": "input_audio_buffer_commit_empty"}, {"param": "item.content"}])
def test_an_error_that_is_about_something_else_changes_nothing(error: Event) -> None:
    """The client is told, and what was asked for is still expected."""
    session = Session()
    session.create("c1")
    session.fail(**error)
    assert session.core.table.slot.oldest == "c1"
    session.answer("r1")
    assert session.core.table.idle


def test_a_follow_up_that_fails_without_a_name_ends_the_wait() -> None:
    """The client sees the response that was held back end as failed, and may ask again."""
    session = Session()
    session.create("c1")
    call = {"id": "i", "type": "function_call", "name": "knowledge", "call_id": "k", "status": "completed"}
    response = {"id": "r1", "status": "completed", "output": [{**call, "arguments": "{}"}]}
    session.model_side.take({"type": "response.created", "response": {"id": "r1", "output": []}})
    session.model_side.take({"type": "response.done", "response": response})
    session.core.perform(session.core.table.settled(CallKey("r1", "k"), "out"))
    session.fail(type="server_error")
    assert [event["response"]["status"] for event in session.client if event["type"] == "response.done"] == ["failed"]
    session.create("c2")
    assert session.model[-1]["event_id"] == "c2"


@given(st.lists(ERRORS, max_size=3))
def test_no_error_leaves_a_session_that_waits_for_ever(errors: list[Event]) -> None:
    """Whatever errors say: after a bounded time nothing is awaited that will not come."""
    session = Session()
    session.create("c1")
    try:
        for error in errors:
            session.fail(**error)
    except FatalModelError:
        return
    session.create("c2")
    session.answer("r1")
    session.wait(ASKED_SECONDS)
    assert session.core.table.idle
    session.create("c3")
    session.answer("r2")
    assert session.seen()[-2:] == ["response.created", "response.done"]
    assert session.core.table.idle
