"""The rules of a live conversation, under every order in which things can happen.

A strict model, a client and slow retrievals are simulated around the real session core, and random bytes decide what
happens next: what arrives, what is still under way, who speaks, cancels, fails or disconnects.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.realtime.simulated_world import World

EXAMPLES = int(os.environ.get("EARPIECE_INTERLEAVINGS", "10000"))


def check_end(world: World) -> None:
    """What must hold once everything has come to rest."""
    ours = {call_id: call for call_id, call in world.model.calls.items() if call["ours"]}
    assert {call_id: call["answers"] for call_id, call in ours.items()} == dict.fromkeys(ours, 1)
    assert world.core.table.idle, "something is still awaited"
    assert not world.due, "a response that was due never came"
    assert "running" not in world.retrievals.values()
    begun = [event["response"]["id"] for event in world.seen if event["type"] == "response.created"]
    ended = [event["response"]["id"] for event in world.seen if event["type"] == "response.done"]
    assert sorted(begun) == sorted(ended), "a response is shown to begin and not to end, or the reverse"
    assert len(set(ended)) == len(ended)


def answered_creates(world: World) -> set[str]:
    errors = {
        str(event.get("really_about") or event["error"].get("event_id"))
        for event in world.seen
        if event["type"] == "error"
    }
    dones = [event["response"] for event in world.seen if event["type"] == "response.done"]
    return errors | {str((response.get("metadata") or {}).get("n")) for response in dones}


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
@given(st.binary(min_size=40, max_size=200))
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_order_of_events_breaks_a_rule(choices: bytes) -> None:
    """Every call is answered once, nothing stale is shown, no follow-up is early, doubled or forgotten."""
    world = World(choices)
    while world.choices:
        world.step()
    world.come_to_rest()
    check_end(world)
    if world.model.echoes:
        assert world.client_creates <= answered_creates(world), "a client waits for ever"


@settings(max_examples=1000, deadline=None, database=None)
@given(st.binary(min_size=5, max_size=120))
def test_a_session_that_is_closed_at_any_moment_leaves_nothing_running(choices: bytes) -> None:
    """Whatever is under way when a client leaves is stopped."""
    world = World(choices)
    while world.choices:
        world.step()
    world.core.perform(world.core.table.close())
    assert "running" not in world.retrievals.values()
