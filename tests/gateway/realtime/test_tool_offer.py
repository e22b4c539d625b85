"""Our tool goes in beside the client's, and does not come out."""

import pytest

from gateway.realtime.tool_offer import ReservedToolName, ToolOffer

OURS = {"type": "function", "name": "knowledge", "parameters": {}}
THEIRS = {"type": "function", "name": "lights", "parameters": {}}


def update(**session: object) -> dict[str, object]:
    return {"type": "session.update", "session": {"type": "realtime", **session}}


def test_an_update_without_tools_is_left_alone() -> None:
    """The model keeps the tools that it has, ours among them."""
    assert ToolOffer(OURS).session_update(update(instructions="x")) == update(instructions="x")


def test_clearing_the_tools_clears_the_clients_alone() -> None:
    """An empty list means the client's tools."""
    assert ToolOffer(OURS).session_update(update(tools=[])) == update(tools=[OURS])


def test_a_new_connection_is_offered_both() -> None:
    """What the client set before the connection was lost is offered again."""
    offer = ToolOffer(OURS)
    offer.session_update(update(tools=[THEIRS]))
    opening = offer.opening({"instructions": "x", "tools": [THEIRS]})
    assert opening == update(instructions="x", tools=[THEIRS, OURS])


def test_a_response_with_tools_of_its_own_gets_ours_too() -> None:
    """The override replaces the session's tools, so ours must be in it."""
    event = {"type": "response.create", "response": {"tools": [THEIRS]}}
    assert ToolOffer(OURS).response_create(event)["response"] == {"tools": [THEIRS, OURS]}


def test_a_response_outside_the_conversation_does_not_get_ours() -> None:
    """There would be no place for the output of its call."""
    offer = ToolOffer(OURS)
    offer.session_update(update(tools=[THEIRS]))
    event = {"type": "response.create", "response": {"conversation": "none"}}
    assert offer.response_create(event)["response"] == {"conversation": "none", "tools": [THEIRS]}


def test_a_tool_of_our_name_is_refused_everywhere() -> None:
    """In the session and in a single response alike, and what was set before stays."""
    offer = ToolOffer(OURS)
    offer.session_update(update(tools=[THEIRS]))
    with pytest.raises(ReservedToolName, match="knowledge"):
        offer.session_update(update(tools=[OURS]))
    with pytest.raises(ReservedToolName):
        offer.response_create({"type": "response.create", "response": {"tools": [OURS]}})
    assert offer.opening({"tools": [THEIRS]}) == update(tools=[THEIRS, OURS])


def test_without_a_tool_everything_passes() -> None:
    """A gateway without a provider changes nothing."""
    offer = ToolOffer(None)
    assert offer.opening({}) is None
    assert offer.session_update(update(tools=[OURS])) == update(tools=[OURS])
    assert offer.without_ours({"tools": [OURS]}) == {"tools": [OURS]}


def test_a_transcription_session_is_not_ours_to_change() -> None:
    """It has no tools at all."""
    event = {"type": "session.update", "session": {"type": "transcription", "tools": []}}
    assert ToolOffer(OURS).session_update(event) == event
