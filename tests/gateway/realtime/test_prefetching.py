"""Lookups ahead, slow lookups and the moments of a turn, with a model that the test plays."""

import asyncio
import json
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.conversation import Turn, conversation
from gateway.realtime.holding import HOLDING_MARK

TRANSCRIPT = "conversation.item.input_audio_transcription."
QUESTION = "how many reviewers does every release need"
EVENTS = "?knowledge_events=1"


async def greeted(model: Any, client: Any) -> Any:
    peer = await model.connection()
    await peer.send("session.created", session={"id": "sess_1"})
    await client.until("session.created")
    await peer.until("session.update")
    return peer


async def speaks(peer: Any, *, pieces: bool) -> None:
    await peer.send("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    if pieces:
        for word in QUESTION.split():
            await peer.send(f"{TRANSCRIPT}delta", item_id="item_1", delta=f"{word} ")
    await peer.send("input_audio_buffer.speech_stopped", item_id="item_1", audio_end_ms=900)
    if not pieces:
        await peer.send(f"{TRANSCRIPT}completed", item_id="item_1", transcript=QUESTION)


@pytest.mark.parametrize("pieces", [True, False], ids=["in pieces", "final only"])
async def test_the_call_adopts_what_was_looked_up_while_the_user_spoke(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, provider, turn, pieces
) -> None:
    """One retrieval, begun before the model called; the client hears of it and of what it saved."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway, EVENTS) as client:
        peer = await greeted(model, client)
        await speaks(peer, pieces=pieces)
        ahead = await client.until("knowledge.prefetch")
        assert ahead["query"] == QUESTION
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1", query="number of reviewers every release needs")
        await origin.end()
        completed = await client.until("knowledge.completed")
        assert completed["status"] == "ok"
        counts = completed["prefetch"]
        assert (counts["started"], counts["adopted"], counts["wasted"]) == (1, 1, 0)
        assert counts["hidden_ms"] >= 0
        assert ahead["turn_id"] == completed["turn_id"]
    assert [request.query for request, _ in provider.requests] == [QUESTION]


async def test_another_question_is_looked_up_itself(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """What the model asks is what it is answered."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway, EVENTS) as client:
        peer = await greeted(model, client)
        await speaks(peer, pieces=False)
        await client.until("knowledge.prefetch")
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1", query="warranty of the sensor")
        completed = await client.until("knowledge.completed")
        assert completed["prefetch"]["adopted"] == 0
    assert provider.requests[-1][0].query == "warranty of the sensor"


async def test_it_can_be_switched_off(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """With EARPIECE_PREFETCH=off only the model's calls reach the provider."""
    async with open_gateway(provider, upstream=model.url, prefetch=False) as gateway, dial(gateway, EVENTS) as client:
        peer = await greeted(model, client)
        await speaks(peer, pieces=False)
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1", query="reviewers")
        await client.until("knowledge.completed")
    assert [request.query for request, _ in provider.requests] == ["reviewers"]


async def slow_call(model: Any, client: Any, turn: Any) -> Any:
    peer = await greeted(model, client)
    origin = turn(peer)
    await origin.begin()
    await origin.call("call_1")
    await origin.end()
    slow = await client.until("knowledge.slow")
    assert (slow["call_id"], slow["waited_ms"]) == ("call_1", 10)
    return peer


async def test_a_slow_lookup_is_told_of_and_nothing_is_said_by_default(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """A client may show it; the voice stays quiet unless the operator wants a sentence."""
    async with (
        open_gateway(held_provider, upstream=model.url, slow_seconds=0.01) as gateway,
        dial(gateway, EVENTS) as client,
    ):
        peer = await slow_call(model, client, turn)
        held_provider.go_on.set()
        assert (await peer.next())["item"]["type"] == "function_call_output"


async def test_a_holding_sentence_is_said_once_and_the_answer_waits_for_it(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, held_provider, turn
) -> None:
    """Outside the conversation, before the answer; the answer follows when it is over."""
    options = {"slow_seconds": 0.01, "holding_sentence": True}
    async with (
        open_gateway(held_provider, upstream=model.url, **options) as gateway,
        dial(gateway, EVENTS) as client,
    ):
        peer = await slow_call(model, client, turn)
        asked = await peer.next()
        assert asked["response"]["conversation"] == "none"
        sentence = turn(peer, "resp_holding")
        await sentence.begin(metadata=asked["response"]["metadata"])
        held_provider.go_on.set()
        await client.until("knowledge.completed")
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"  # and nothing before it
        await sentence.say("One moment.")
        assert (await client.until("response.output_text.delta"))["delta"] == "One moment."
        await sentence.end()
        output, follow_up = await peer.next(), await peer.next()
        assert json.loads(output["item"]["output"])["status"] == "ok"
        assert HOLDING_MARK not in follow_up["response"].get("metadata", {})


async def test_a_refused_sentence_holds_nothing_up(model, open_gateway, dial, held_provider, turn) -> None:  # type: ignore[no-untyped-def]
    """A model that knows no responses outside the conversation says so; the answer comes all the same."""
    options = {"slow_seconds": 0.01, "holding_sentence": True}
    async with (
        open_gateway(held_provider, upstream=model.url, **options) as gateway,
        dial(gateway, EVENTS) as client,
    ):
        peer = await slow_call(model, client, turn)
        asked = await peer.next()
        await peer.send("error", error={"type": "invalid_request_error", "code": "x", "event_id": asked["event_id"]})
        held_provider.go_on.set()
        assert (await peer.next())["item"]["type"] == "function_call_output"


async def test_speech_cancels_the_sentence(model, open_gateway, dial, held_provider, turn) -> None:  # type: ignore[no-untyped-def]
    """Nobody talks over the user."""
    options = {"slow_seconds": 0.01, "holding_sentence": True}
    async with (
        open_gateway(held_provider, upstream=model.url, **options) as gateway,
        dial(gateway, EVENTS) as client,
    ):
        peer = await slow_call(model, client, turn)
        asked = await peer.next()
        await turn(peer, "resp_holding").begin(metadata=asked["response"]["metadata"])
        await peer.send("input_audio_buffer.speech_started", item_id="item_2", audio_start_ms=0)
        cancel = await peer.until("response.cancel")
        assert cancel["response_id"] == "resp_holding"


async def test_the_moments_of_a_turn_are_told_in_order(model, open_gateway, dial, provider, turn) -> None:  # type: ignore[no-untyped-def]
    """For a panel: looked up ahead, called, found, delivered, first sound, answer."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway, EVENTS) as client:
        peer = await greeted(model, client)
        await speaks(peer, pieces=True)
        await client.until("knowledge.prefetch")
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1", query=QUESTION)
        await origin.end()
        await peer.until("response.create")
        answer = turn(peer, "resp_2")
        await answer.begin()
        await answer.say("Two.")
        await answer.end()
        told = await client.until("knowledge.turn")
    at = told["at_ms"]
    assert list(at) == ["prefetch", "call", "result", "delivered", "first_sound", "answer"]
    assert list(at.values()) == sorted(at.values())


async def test_a_turn_is_one_trace(model, open_gateway, dial, provider, turn, traced) -> None:  # type: ignore[no-untyped-def]
    """The lookup ahead and the call are children of the turn, and its moments are marked on it."""
    async with open_gateway(provider, upstream=model.url) as gateway, dial(gateway, EVENTS) as client:
        peer = await greeted(model, client)
        await speaks(peer, pieces=True)
        await client.until("knowledge.prefetch")
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1", query=QUESTION)
        await origin.end()
        await client.until("knowledge.completed")
    spans = {span.name: span for span in traced.get_finished_spans()}
    assert set(spans) == {"turn", "prefetch", "execute_tool knowledge"}
    assert len({span.context.trace_id for span in spans.values()}) == 1
    assert spans["prefetch"].parent.span_id == spans["turn"].context.span_id
    assert spans["execute_tool knowledge"].parent.span_id == spans["turn"].context.span_id
    marks = {event.name for event in spans["turn"].events}
    assert {"earpiece.prefetch", "earpiece.call", "earpiece.result", "earpiece.delivered"} <= marks
    steps = [event.name for event in spans["prefetch"].events]
    assert steps == ["earpiece.provider.asked", "earpiece.provider.answered", "earpiece.normalized"]
    assert QUESTION not in "".join(span.to_json() for span in spans.values())


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


class SlowProvider:
    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "slow", "label": "Slow"}

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def retrieve(self, request: Any, context: Any) -> Any:
        await self.go_on.wait()
        return [{"id": "1", "content": "Every release needs two reviewers.\n\n发布需要两个人审核。"}]


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        ("How many reviewers does a release need?", "One moment", "two reviewers"),
        ("发布需要几个人审核？", "请稍等", "两个人审核"),
    ],
)
async def test_the_embedded_model_holds_in_the_language_of_the_user(  # type: ignore[no-untyped-def]
    open_gateway, question: str, sentence: str, answer: str
) -> None:
    """The whole way: the sentence is heard first, and the answer is the answer alone."""
    provider = SlowProvider()
    turn, heard = Turn(question), []
    async with (
        asyncio.timeout(20),
        open_gateway(provider, slow_seconds=0.01, holding_sentence=True) as gateway,
        conversation(gateway.url) as talk,
    ):
        async for event in talk.ask(turn):
            heard.append(event.get("delta", ""))
            if event["type"] == "response.done":
                provider.go_on.set()
    assert "".join(heard).startswith(sentence)
    assert turn.status == "ok"
    assert answer in turn.answer
    assert sentence not in turn.answer
