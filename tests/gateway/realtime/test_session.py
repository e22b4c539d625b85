"""The gateway between a real client socket and a model that the test plays by hand."""

import json
from typing import Any

import aiohttp
import pytest

from tests.gateway.realtime.played import PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import ASK, dial, dialled, staged


def names(session: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in session["tools"]]


async def test_a_call_is_answered_and_followed_up(model: PlayedModel, provider: WatchedProvider) -> None:
    """The output comes first and once, then exactly one request to go on (rules 1 to 3)."""
    async with staged(model, provider) as stage:
        await stage.calls("call_1")
        output, follow_up = await stage.model.next(), await stage.model.next()
        assert output["item"]["call_id"] == "call_1"
        assert json.loads(output["item"]["output"])["status"] == "ok"
        assert follow_up["type"] == "response.create"
        await stage.sends_the_model_nothing()


async def test_the_client_sees_nothing_of_the_call(model: PlayedModel, provider: WatchedProvider) -> None:
    """A client that knows nothing of the tool sees one response with one message, and is not disturbed."""
    async with staged(model, provider) as stage:
        await stage.calls()
        await stage.model.until("response.create")
        await stage.answers("Two.", response_id="resp_2")
        seen = [await stage.client.next() for _ in range(5)]
        assert [event["type"] for event in seen] == [
            "response.created",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.done",
        ]
        assert {event.get("response_id") or event["response"]["id"] for event in seen} == {"resp_2"}


async def test_events_of_the_call_are_sent_where_asked_for(model: PlayedModel, provider: WatchedProvider) -> None:
    """With ?knowledge_events=1 a client can show what is looked up, where it was found, and links."""
    async with staged(model, provider, events=True) as stage:
        await stage.calls(query="reviewers")
        started, completed, citations = [await stage.client.next() for _ in range(3)]
        assert (started["type"], started["query"]) == ("knowledge.started", "reviewers")
        assert (completed["type"], completed["status"]) == ("knowledge.completed", "ok")
        assert completed["sources"][0]["title"] == "Release handbook"
        assert completed["elapsed_ms"] >= 0
        assert citations["citations"][0]["uri"] == "https://docs.example.com/releases"
        assert started["turn_id"] == completed["turn_id"] == citations["turn_id"] != ""


async def test_speech_cancels_the_provider_and_settles_the_call(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """Barge-in: the retrieval stops, its call is answered as superseded, and nothing is followed up (rule 4)."""
    async with staged(model, held_provider, events=True) as stage:
        await stage.calls("call_1")
        await held_provider.until_asked()
        await stage.speech_starts()
        await held_provider.until_stopped()
        assert (await stage.output())["status"] == "superseded"
        assert (await stage.client.until("knowledge.superseded"))["call_id"] == "call_1"
        assert (await stage.client.until("response.done"))["response"]["status"] == "cancelled"
        await stage.sends_the_model_nothing()


async def test_a_cancel_of_the_client_needs_no_response_of_the_model(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """While only a retrieval runs, response.cancel is the gateway's: the model would know of nothing to cancel."""
    async with staged(model, held_provider) as stage:
        await stage.calls()
        await held_provider.until_asked()
        await stage.client.send("response.cancel")
        await held_provider.until_stopped()
        assert (await stage.client.until("response.done"))["response"]["status"] == "cancelled"
        assert (await stage.output())["status"] == "superseded"
        await stage.sends_the_model_nothing()


async def test_a_finished_result_serves_the_question_when_it_comes_again(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """finish_silently: the interrupted retrieval ends unspoken, and the repeated question asks nobody again."""
    async with staged(model, held_provider, on_barge_in="finish_silently") as stage:
        await stage.calls("call_1")
        await held_provider.until_asked()
        await stage.speech_starts()
        assert (await stage.output())["status"] == "superseded"
        assert not held_provider.stopped.is_set()
        held_provider.go_on.set()
        await stage.speech_stops()
        await stage.calls("call_2", response_id="resp_2")
        assert (await stage.output())["status"] == "ok"
        assert len(held_provider.requests) == 1


async def test_with_calls_of_the_client_the_follow_up_is_the_clients(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """Mixed calls: the client's request to go on waits for our output, and nothing else asks (rules 2 and 6)."""
    async with staged(model, held_provider) as stage:
        origin = stage.turn()
        await origin.begin()
        await origin.call("call_ours")
        await origin.call("call_theirs", name="lights")
        await origin.end()
        done = await stage.client.until("response.done")
        assert [item["call_id"] for item in done["response"]["output"]] == ["call_theirs"]
        theirs = {"type": "function_call_output", "call_id": "call_theirs", "output": "on"}
        await stage.client.send("conversation.item.create", item=theirs)
        await stage.client.send("response.create", event_id="go_on")
        assert (await stage.model.next())["item"]["call_id"] == "call_theirs"
        held_provider.go_on.set()
        assert (await stage.model.next())["item"]["call_id"] == "call_ours"
        assert (await stage.model.next())["event_id"] == "go_on"
        await stage.sends_the_model_nothing()


async def test_the_tool_is_added_to_the_clients_tools_and_hidden(model: PlayedModel, provider: WatchedProvider) -> None:
    """At connect and at every session.update the model has our tool, and the client sees only its own."""
    lights = {"type": "function", "name": "lights", "parameters": {}}
    async with staged(model, provider) as stage:
        assert stage.opening is not None
        assert names(stage.opening["session"]) == ["knowledge"]
        await stage.model.send("session.updated", session=stage.opening["session"])
        await stage.client.send("session.update", session={"type": "realtime", "tools": [lights]})
        update = await stage.model.until("session.update")
        assert names(update["session"]) == ["lights", "knowledge"]
        await stage.model.send("session.updated", session=update["session"])
        assert names((await stage.client.next())["session"]) == ["lights"]


async def test_a_client_tool_of_the_same_name_is_refused(model: PlayedModel, provider: WatchedProvider) -> None:
    """The client is told plainly; the model hears nothing of it."""
    async with staged(model, provider) as stage:
        tools = [{"type": "function", "name": "knowledge", "parameters": {}}]
        await stage.client.send("session.update", event_id="mine", session={"type": "realtime", "tools": tools})
        error = (await stage.client.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("reserved_tool_name", "mine")
        await stage.sends_the_model_nothing()


async def test_without_a_provider_no_tool_is_offered(model: PlayedModel) -> None:
    """The gateway is then a plain proxy: nothing is added and nothing is taken away."""
    tools = [{"type": "function", "name": "knowledge", "parameters": {}}]
    async with staged(model, None) as stage:
        await stage.client.send("session.update", session={"type": "realtime", "tools": tools})
        assert (await stage.model.next())["session"]["tools"] == tools
        assert stage.gateway.tool.definition is None
        assert (await stage.gateway.runtime.health()).status == "unconfigured"


async def test_a_lost_connection_fails_calls_and_is_opened_again(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """Nothing is sent for a call that the new session does not know; what was set and said is told again (rule 7)."""
    async with staged(model, held_provider) as stage:
        await stage.client.send("session.update", session={"type": "realtime", "instructions": "Be kind."})
        await stage.client.send("conversation.item.create", item=ASK)
        await stage.model.until("conversation.item.create")
        await stage.calls()
        await held_provider.until_asked()
        await stage.model.close(code=1011)
        await held_provider.until_stopped()
        assert (await stage.client.until("response.done"))["response"]["status"] == "failed"
        stage.model = await model.connection()
        opening, retold = await stage.model.next(), await stage.model.next()
        assert opening["session"]["instructions"] == "Be kind."
        assert names(opening["session"]) == ["knowledge"]
        assert retold["item"]["content"] == [{"type": "input_text", "text": "How many reviewers?"}]
        await stage.sends_the_model_nothing()


async def test_a_session_near_its_limit_moves_to_a_new_one_when_nobody_speaks(model: PlayedModel) -> None:
    """The model's cap on sessions is announced, and survived without the client having to do anything."""
    async with dialled(None, events=True, upstream=model.url) as client:
        peer = await model.connection()
        await peer.send("session.created", session={"id": "sess", "expires_at": 1})
        await client.until("session.created")
        assert (await client.until("gateway.renewing"))["expires_at"] == 1
        fresh = await model.connection()
        await fresh.send("session.created", session={"id": "sess_2"})
        assert (await client.until("gateway.reconnected"))["reason"] == "renewed"


async def test_a_session_near_its_limit_stays_while_somebody_speaks(model: PlayedModel) -> None:
    """A move in the middle of a sentence would lose its beginning."""
    async with dialled(None, upstream=model.url) as client:
        peer = await model.connection()
        await peer.send("input_audio_buffer.speech_started", item_id="said")
        await peer.send("session.created", session={"id": "sess", "expires_at": 1})
        await client.until("session.created")
        for _ in range(3):
            await client.send("input_audio_buffer.append", audio="AAAA")
            await peer.until("input_audio_buffer.append")
        assert model.connections.empty()
        await peer.send("input_audio_buffer.speech_stopped", item_id="said")
        await model.connection()


@pytest.mark.parametrize(
    ("code", "seen"),
    [("invalid_api_key", "model_unauthorized"), ("insufficient_quota", "model_quota_exhausted")],
)
async def test_a_fatal_error_reaches_the_client_as_one_typed_error(model: PlayedModel, code: str, seen: str) -> None:
    """The vendor's own words, which may quote a key, stay behind."""
    async with staged(model, None) as stage:
        await stage.model.send("error", error={"type": "invalid_request_error", "code": code, "message": "sk-secret"})
        error = await stage.client.next()
        assert error["error"]["code"] == seen
        assert "sk-secret" not in json.dumps(error)
        assert (await stage.client.next())["code"] == 1011


async def test_a_model_that_refuses_the_gateway_is_reported_once(model: PlayedModel) -> None:
    """The client learns that the model is not available, and nothing of why."""
    model.refuse_with = 401
    async with dialled(None, upstream=model.url) as client:
        error = await client.next()
        assert error["error"]["code"] == "model_unavailable"
        assert "sk-secret" not in json.dumps(error)
        assert (await client.next())["code"] == 1011


async def test_a_busy_model_is_asked_again(model: PlayedModel, provider: WatchedProvider) -> None:
    """A refusal because another response runs is no reason to stay silent, and none to trouble the client."""
    async with staged(model, provider) as stage:
        await stage.calls()
        follow_up = await stage.model.until("response.create")
        code = "conversation_already_has_active_response"
        await stage.model.send("error", error={"code": code, "event_id": follow_up["event_id"]})
        assert (await stage.model.next())["event_id"] == follow_up["event_id"]
        await stage.answers(response_id="resp_2")
        assert (await stage.client.next())["type"] == "response.created"


async def test_audio_passes_unread_and_unchanged(model: PlayedModel, provider: WatchedProvider) -> None:
    """What is not understood is not touched: even the spacing of an audio event is kept."""
    async with staged(model, provider) as stage:
        heard = '{"type":"input_audio_buffer.append",  "audio":"AAAA"}'
        await stage.client.socket.send_str(heard)
        assert await stage.model.next_text() == heard
        spoken = '{"type":"response.output_audio.delta",  "response_id":"resp_1","delta":"AAAA"}'
        await stage.model.socket.send_str(spoken)
        assert await stage.client.next_text() == spoken


async def test_the_provider_is_closed_once_with_the_gateway(model: PlayedModel, provider: WatchedProvider) -> None:
    """Closing settles what is under way, closes the sockets as going away, and closes the provider exactly once."""
    async with staged(model, provider) as stage, stage.closing():
        assert await stage.client.closed() == 1001
    assert provider.closed == 1


async def test_what_is_under_way_is_finished_before_the_gateway_closes(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """Draining: the listener closes first, the notice is sent, the answer still comes, then the socket closes 1001."""
    async with staged(model, held_provider, events=True, drain_seconds=5.0) as stage:
        await stage.calls()
        await held_provider.until_asked()
        async with stage.closing():
            await stage.client.until("gateway.going_away")
            with pytest.raises(aiohttp.ClientConnectorError):
                async with dial(stage.gateway):
                    pass
            held_provider.go_on.set()
            await stage.model.until("response.create")
            await stage.answers("Two.")
            await stage.client.until("response.done")
            assert await stage.client.closed() == 1001


async def test_what_never_ends_is_cut_at_the_drain_limit(model: PlayedModel) -> None:
    """A response that runs on does not keep the gateway from closing: 1012, come back later."""
    async with staged(model, None, drain_seconds=0.1) as stage:
        await stage.turn().begin()
        await stage.model.send("rate_limits.updated")
        await stage.client.until("rate_limits.updated")
        async with stage.closing():
            assert await stage.client.closed() == 1012
