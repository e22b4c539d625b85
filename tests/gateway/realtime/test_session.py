"""The gateway between a real client socket and a model that the test plays by hand."""

import asyncio
import json
from typing import Any

import pytest

Event = dict[str, Any]
ASK = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many reviewers?"}]}


async def greeted(model: Any, client: Any) -> Any:
    """Play the model's greeting; returns its end of the connection."""
    peer = await model.connection()
    await peer.send("session.created", session={"id": "sess", "tools": []})
    await client.until("session.created")
    return peer


async def looked_up(peer: Any, turn: Any) -> tuple[Event, Event]:
    """Play a response that calls the tool; returns what the gateway sends after it."""
    origin = turn(peer)
    await origin.begin()
    await origin.call("call_1")
    await origin.end()
    return await peer.until("conversation.item.create"), await peer.next()


async def test_a_call_is_answered_and_followed_up(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """The output comes first and once, then exactly one request to go on (rules 1 to 3)."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        output, follow_up = await looked_up(peer, turn)
        assert output["item"]["call_id"] == "call_1"
        assert json.loads(output["item"]["output"])["status"] == "ok"
        assert follow_up["type"] == "response.create"


async def test_the_client_sees_nothing_of_the_call(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """A client that knows nothing of the tool sees one response with one message, and is not disturbed."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await looked_up(peer, turn)
        answer = turn(peer, "resp_2")
        await answer.begin()
        await answer.say("Two.")
        await answer.end()
        seen = [await client.next() for _ in range(5)]
        assert [event["type"] for event in seen] == [
            "response.created",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.done",
        ]
        assert {event.get("response_id") or event["response"]["id"] for event in seen} == {"resp_2"}


async def test_events_of_the_call_are_sent_where_asked_for(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """With ?knowledge_events=1 a client can show what is looked up, where it was found, and links."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway, "?knowledge_events=1") as client:
        peer = await greeted(model, client)
        await looked_up(peer, turn)
        started, completed, citations = [await client.next() for _ in range(3)]
        assert (started["type"], started["query"]) == ("knowledge.started", "reviewers")
        assert (completed["type"], completed["status"]) == ("knowledge.completed", "ok")
        assert completed["sources"][0]["title"] == "Release handbook"
        assert completed["elapsed_ms"] >= 0
        assert citations["citations"][0]["uri"] == "https://docs.example.com/releases"
        assert started["turn_id"] == completed["turn_id"] == citations["turn_id"] != ""


async def test_speech_cancels_the_provider_and_settles_the_call(model, open_gateway, dial, held_provider, turn) -> None:  # type: ignore[no-untyped-def]
    """Barge-in: the retrieval stops, its call is answered as superseded, and nothing is followed up (rule 4)."""
    async with (
        open_gateway(held_provider, upstream=model.url) as gateway,
        dial(gateway, "?knowledge_events=1") as client,
    ):
        peer = await greeted(model, client)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        async with asyncio.timeout(5):
            await held_provider.asked.wait()
            await peer.send("input_audio_buffer.speech_started", item_id="item_9", audio_start_ms=0)
            await held_provider.stopped.wait()
        output = await peer.until("conversation.item.create")
        assert json.loads(output["item"]["output"])["status"] == "superseded"
        assert (await client.until("knowledge.superseded"))["call_id"] == "call_1"
        ended = await client.until("response.done")
        assert ended["response"]["status"] == "cancelled"
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"


async def test_a_cancel_of_the_client_needs_no_response_of_the_model(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """While only a retrieval runs, response.cancel is the gateway's: the model would know of nothing to cancel."""
    async with open_gateway(held_provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        async with asyncio.timeout(5):
            await held_provider.asked.wait()
            await client.send("response.cancel")
            await held_provider.stopped.wait()
        assert (await client.until("response.done"))["response"]["status"] == "cancelled"
        assert json.loads((await peer.until("conversation.item.create"))["item"]["output"])["status"] == "superseded"
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"


async def test_a_finished_result_serves_the_question_when_it_comes_again(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """finish_silently: the interrupted retrieval ends unspoken, and the repeated question asks nobody again."""
    settings = {"upstream": model.url, "on_barge_in": "finish_silently"}
    async with open_gateway(held_provider, **settings) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        async with asyncio.timeout(5):
            await held_provider.asked.wait()
        await peer.send("input_audio_buffer.speech_started", item_id="item_9", audio_start_ms=0)
        output = await peer.until("conversation.item.create")
        assert json.loads(output["item"]["output"])["status"] == "superseded"
        assert not held_provider.stopped.is_set()
        held_provider.go_on.set()
        await peer.send("input_audio_buffer.speech_stopped", item_id="item_9", audio_end_ms=0)
        again = turn(peer, "resp_2")
        await again.begin()
        await again.call("call_2")
        await again.end()
        output = await peer.until("conversation.item.create")
        assert json.loads(output["item"]["output"])["status"] == "ok"
        assert len(held_provider.requests) == 1


async def test_with_calls_of_the_client_the_follow_up_is_the_clients(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """Mixed calls: the client's request to go on waits for our output, and nothing else asks (rules 2 and 6)."""
    async with open_gateway(held_provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_ours")
        await origin.call("call_theirs", name="lights")
        await origin.end()
        done = await client.until("response.done")
        assert [item["call_id"] for item in done["response"]["output"]] == ["call_theirs"]
        theirs = {"type": "function_call_output", "call_id": "call_theirs", "output": "on"}
        await client.send("conversation.item.create", item=theirs)
        await client.send("response.create", event_id="go_on")
        assert (await peer.until("conversation.item.create"))["item"]["call_id"] == "call_theirs"
        held_provider.go_on.set()
        assert (await peer.next())["item"]["call_id"] == "call_ours"
        assert (await peer.next())["event_id"] == "go_on"
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"


async def test_the_tool_is_added_to_the_clients_tools_and_hidden(model, open_gateway, dial, provider) -> None:  # type: ignore[no-untyped-def]
    """At connect and at every session.update the model has our tool, and the client sees only its own."""
    lights = {"type": "function", "name": "lights", "parameters": {}}
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        opening = await peer.until("session.update")
        assert [tool["name"] for tool in opening["session"]["tools"]] == ["knowledge"]
        await peer.send("session.updated", session=opening["session"])
        await client.send("session.update", session={"type": "realtime", "tools": [lights]})
        update = await peer.until("session.update")
        assert [tool["name"] for tool in update["session"]["tools"]] == ["lights", "knowledge"]
        await peer.send("session.updated", session=update["session"])
        assert [tool["name"] for tool in (await client.next())["session"]["tools"]] == ["lights"]


async def test_a_client_tool_of_the_same_name_is_refused(model, open_gateway, dial, provider) -> None:  # type: ignore[no-untyped-def]
    """The client is told plainly; the model hears nothing of it."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await peer.until("session.update")
        tools = [{"type": "function", "name": "knowledge", "parameters": {}}]
        await client.send("session.update", event_id="mine", session={"type": "realtime", "tools": tools})
        error = (await client.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("reserved_tool_name", "mine")
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"


async def test_without_a_provider_no_tool_is_offered(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """The gateway is then a plain proxy: nothing is added and nothing is taken away."""
    tools = [{"type": "function", "name": "knowledge", "parameters": {}}]
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await client.send("session.update", session={"type": "realtime", "tools": tools})
        assert (await peer.next())["session"]["tools"] == tools
        assert gateway.tool.definition is None
        assert (await gateway.runtime.health()).status == "unconfigured"


async def test_a_lost_connection_fails_calls_and_is_opened_again(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """Nothing is sent for a call that the new session does not know; what was set and said is told again (rule 7)."""
    async with open_gateway(held_provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await client.send("session.update", session={"type": "realtime", "instructions": "Be kind."})
        await client.send("conversation.item.create", item=ASK)
        await peer.until("conversation.item.create")
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        async with asyncio.timeout(5):
            await held_provider.asked.wait()
            await peer.socket.close(code=1011)
            await held_provider.stopped.wait()
        assert (await client.until("response.done"))["response"]["status"] == "failed"
        fresh = await model.connection()
        opening, retold = await fresh.next(), await fresh.next()
        assert opening["session"]["instructions"] == "Be kind."
        assert [tool["name"] for tool in opening["session"]["tools"]] == ["knowledge"]
        assert retold["item"]["content"] == [{"type": "input_text", "text": "How many reviewers?"}]
        await client.send("input_audio_buffer.clear")
        assert (await fresh.next())["type"] == "input_audio_buffer.clear"


async def test_a_session_near_its_limit_moves_to_a_new_one_when_nobody_speaks(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """The model's cap on sessions is announced, and survived without the client having to do anything."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway, "?knowledge_events=1") as client:
        peer = await model.connection()
        await peer.send("session.created", session={"id": "sess", "expires_at": 1})
        await client.until("session.created")
        assert (await client.until("gateway.renewing"))["expires_at"] == 1
        fresh = await model.connection()
        await fresh.send("session.created", session={"id": "sess_2"})
        assert (await client.until("gateway.reconnected"))["reason"] == "renewed"


async def test_a_session_near_its_limit_stays_while_somebody_speaks(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """A move in the middle of a sentence would lose its beginning."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
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
async def test_a_fatal_error_reaches_the_client_as_one_typed_error(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, code, seen
) -> None:
    """The vendor's own words, which may quote a key, stay behind."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await peer.send("error", error={"type": "invalid_request_error", "code": code, "message": "sk-secret"})
        error = await client.until("error")
        assert error["error"]["code"] == seen
        assert "sk-secret" not in json.dumps(error)
        assert await client.closed() == 1011


async def test_a_model_that_refuses_the_gateway_is_reported_once(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """The client learns that the model is not available, and nothing of why."""
    model.refuse_with = 401
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        error = await client.until("error")
        assert error["error"]["code"] == "model_unavailable"
        assert "sk-secret" not in json.dumps(error)
        assert await client.closed() == 1011


async def test_a_busy_model_is_asked_again(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """A refusal because another response runs is no reason to stay silent, and none to trouble the client."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        _, follow_up = await looked_up(peer, turn)
        code = "conversation_already_has_active_response"
        await peer.send("error", error={"code": code, "event_id": follow_up["event_id"]})
        assert (await peer.next())["event_id"] == follow_up["event_id"]
        await peer.send("response.created", response={"id": "resp_2", "status": "in_progress"})
        await peer.send("response.done", response={"id": "resp_2", "status": "completed", "output": []})
        assert (await client.next())["type"] == "response.created"


async def test_audio_passes_unread_and_unchanged(model, open_gateway, dial, provider) -> None:  # type: ignore[no-untyped-def]
    """What is not understood is not touched: even the spacing of an audio event is kept."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await peer.until("session.update")
        heard = '{"type":"input_audio_buffer.append",  "audio":"AAAA"}'
        await client.socket.send_str(heard)
        assert (await peer.socket.receive_str()) == heard
        spoken = '{"type":"response.output_audio.delta",  "response_id":"resp_1","delta":"AAAA"}'
        await peer.socket.send_str(spoken)
        assert (await client.socket.receive_str()) == spoken


async def test_the_provider_is_closed_once_with_the_gateway(model, open_gateway, dial, provider) -> None:  # type: ignore[no-untyped-def]
    """Closing settles what is under way, closes the sockets as going away, and closes the provider exactly once."""
    async with dial_and_close(model, open_gateway, dial, provider) as code:
        assert code == 1001
    assert provider.closed == 1


def dial_and_close(model: Any, open_gateway: Any, dial: Any, provider: Any) -> Any:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def closed() -> Any:
        async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway) as client:
            await greeted(model, client)
            closing = asyncio.create_task(gateway.aclose())
            yield await client.closed()
            await closing

    return closed()


async def test_what_is_under_way_is_finished_before_the_gateway_closes(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """Draining: the listener closes first, the notice is sent, the answer still comes, then the socket closes 1001."""
    settings = {"upstream": model.url, "drain_seconds": 5.0}
    async with (
        open_gateway(held_provider, **settings) as gateway,
        dial(gateway, "?knowledge_events=1") as client,
    ):
        peer = await greeted(model, client)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        async with asyncio.timeout(5):
            await held_provider.asked.wait()
        closing = asyncio.create_task(gateway.aclose())
        await client.until("gateway.going_away")
        held_provider.go_on.set()
        await peer.until("response.create")
        answer = turn(peer, "resp_2")
        await answer.begin()
        await answer.say("Two.")
        await answer.end()
        await client.until("response.done")
        assert await client.closed() == 1001
        await closing


async def test_what_never_ends_is_cut_at_the_drain_limit(model, open_gateway, dial, turn) -> None:  # type: ignore[no-untyped-def]
    """A response that runs on does not keep the gateway from closing: 1012, come back later."""
    async with open_gateway(None, upstream=model.url, drain_seconds=0.1) as gateway, dial(gateway) as client:
        peer = await greeted(model, client)
        await turn(peer).begin()
        await peer.send("rate_limits.updated")
        await client.until("rate_limits.updated")
        closing = asyncio.create_task(gateway.aclose())
        assert await client.closed() == 1012
        await closing
