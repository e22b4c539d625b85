"""What is told and said while a lookup is slow, with a model that the test plays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.conversation import Turn, conversation
from gateway.realtime.holding import HOLDING_MARK
from tests.gateway.realtime.played import Event, PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import Stage, open_gateway, staged


@asynccontextmanager
async def slow(model: PlayedModel, provider: WatchedProvider, **settings: Any) -> AsyncIterator[Stage]:
    """A call whose lookup is told to be slow."""
    async with staged(model, provider, events=True, slow_seconds=0.01, **settings) as stage:
        await stage.calls("call_1")
        told = await stage.client.until("knowledge.slow")
        assert (told["call_id"], told["waited_ms"]) == ("call_1", 10)
        yield stage


@asynccontextmanager
async def holding(model: PlayedModel, provider: WatchedProvider) -> AsyncIterator[tuple[Stage, Event]]:
    """The same where a holding sentence is wanted, with the request for it."""
    async with slow(model, provider, holding_sentence=True) as stage:
        asked = await stage.model.next()
        assert asked["response"]["conversation"] == "none"
        yield stage, asked


async def test_a_slow_lookup_is_told_of_and_nothing_is_said_by_default(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """A client may show it; the voice stays quiet unless the operator wants a sentence."""
    async with slow(model, held_provider) as stage:
        held_provider.go_on.set()
        assert (await stage.model.next())["item"]["type"] == "function_call_output"


async def test_a_holding_sentence_is_said_once_and_the_answer_waits_for_it(
    model: PlayedModel, held_provider: WatchedProvider
) -> None:
    """Outside the conversation, before the answer; the answer follows when it is over."""
    async with holding(model, held_provider) as (stage, asked):
        sentence = stage.turn("resp_holding")
        await sentence.begin(metadata=asked["response"]["metadata"])
        held_provider.go_on.set()
        await stage.client.until("knowledge.completed")
        await stage.sends_the_model_nothing()
        await sentence.say("One moment.")
        assert (await stage.client.until("response.output_text.delta"))["delta"] == "One moment."
        await sentence.end()
        assert (await stage.output())["status"] == "ok"
        follow_up = await stage.model.next()
        assert HOLDING_MARK not in follow_up["response"].get("metadata", {})


async def test_a_refused_sentence_holds_nothing_up(model: PlayedModel, held_provider: WatchedProvider) -> None:
    """A model that knows no responses outside the conversation says so; the answer comes all the same."""
    async with holding(model, held_provider) as (stage, asked):
        error = {"type": "invalid_request_error", "code": "x", "event_id": asked["event_id"]}
        await stage.model.send("error", error=error)
        held_provider.go_on.set()
        assert (await stage.model.next())["item"]["type"] == "function_call_output"


async def test_speech_cancels_the_sentence(model: PlayedModel, held_provider: WatchedProvider) -> None:
    """Nobody talks over the user."""
    async with holding(model, held_provider) as (stage, asked):
        await stage.turn("resp_holding").begin(metadata=asked["response"]["metadata"])
        await stage.speech_starts()
        assert (await stage.model.until("response.cancel"))["response_id"] == "resp_holding"


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        ("How many reviewers does a release need?", "One moment", "two reviewers"),
        ("发布需要几个人审核？", "请稍等", "两个人审核"),
    ],
)
async def test_the_embedded_model_holds_in_the_language_of_the_user(question: str, sentence: str, answer: str) -> None:
    """The whole way: the sentence is heard first, and the answer is the answer alone."""
    provider = WatchedProvider(held=True, content="Every release needs two reviewers.\n\n发布需要两个人审核。")
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
