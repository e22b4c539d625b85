"""The model that is not a language model: real protocol, several turns, honest answers."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from gateway.realtime.embedded_model import NOT_A_LANGUAGE_MODEL, EmbeddedModel
from gateway.realtime.extractive_answer import answer_from

TOOL = {"type": "function", "name": "knowledge", "parameters": {"type": "object", "required": ["query"]}}
LOUD = base64.b64encode(b"\xff\x3f" * 2400).decode()
SILENT = base64.b64encode(b"\x00\x00" * 2400).decode()


class Talk:
    """A plain client of the model."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send_json({"type": type, **fields})

    async def until(self, type: str) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while (event := await self.socket.receive_json())["type"] != type:
                pass
        return dict(event)

    async def ask(self, words: str) -> None:
        content = [{"type": "input_text", "text": words}]
        item = {"type": "message", "role": "user", "content": content}
        await self.send("conversation.item.create", item=item)
        await self.send("response.create")

    async def answered(self, **output: Any) -> str:
        """Give the output of the pending call and return what the model says."""
        call = await self.until("response.function_call_arguments.done")
        await self.until("response.done")
        item = {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps(output)}
        await self.send("conversation.item.create", item=item)
        await self.send("response.create")
        return str((await self.until("response.output_text.done"))["text"])


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    model = EmbeddedModel()
    await model.start()
    async with aiohttp.ClientSession() as http, http.ws_connect(model.url) as socket:
        talk = Talk(socket)
        await talk.send("session.update", session={"tools": [TOOL], "output_modalities": ["text"]})
        yield talk
    await model.aclose()


def found(content: str, title: str = "Release handbook") -> dict[str, Any]:
    return {"status": "ok", "results": [{"n": 1, "title": title, "content": content}]}


async def test_it_says_what_it_is(talk: Talk) -> None:
    """Nobody takes it for a language model."""
    session = (await talk.until("session.created"))["session"]
    assert session["instructions"] == NOT_A_LANGUAGE_MODEL
    assert "not a language model" in session["instructions"]


async def test_it_looks_up_the_users_words_and_quotes_what_fits(talk: Talk) -> None:
    """Two turns in two languages, each answered from its own lookup."""
    await talk.ask("How many reviewers does a release need?")
    answer = await talk.answered(**found("Releases are weekly. Every release needs two reviewers. Tags are signed."))
    assert answer == "According to Release handbook, Every release needs two reviewers."
    await talk.until("response.done")
    await talk.ask("报销款多久到账？")
    answer = await talk.answered(**found("提交发票。报销款在五个工作日内到账。", title="费用报销制度"))
    assert answer == "根据《费用报销制度》，报销款在五个工作日内到账。"


async def test_it_is_interrupted_by_speech(talk: Talk) -> None:
    """Loud audio begins a turn, silence ends it, and the answer says that it cannot understand speech."""
    await talk.send("input_audio_buffer.append", audio=LOUD)
    await talk.until("input_audio_buffer.speech_started")
    for _ in range(6):
        await talk.send("input_audio_buffer.append", audio=SILENT)
    await talk.until("input_audio_buffer.speech_stopped")
    await talk.until("input_audio_buffer.committed")
    assert "cannot understand speech" in (await talk.until("response.output_text.done"))["text"]


async def test_a_response_can_be_cancelled_and_only_once(talk: Talk) -> None:
    """Cancelling nothing is an error with the code that clients know."""
    await talk.ask("How many reviewers?")
    await talk.until("response.done")
    await talk.send("response.cancel", event_id="mine")
    error = (await talk.until("error"))["error"]
    assert (error["code"], error["event_id"]) == ("response_cancel_not_active", "mine")


async def test_what_it_does_not_know_is_an_error(talk: Talk) -> None:
    """An output for no call, an unknown event, a broken one: each is refused, and the session goes on."""
    output = {"type": "function_call_output", "call_id": "nobody", "output": "{}"}
    for event in ({"item": output}, {"item": 3}, {}):
        await talk.send("conversation.item.create", **event)
        assert (await talk.until("error"))["error"]["type"] == "invalid_request_error"
    await talk.send("conversation.item.invent")
    assert (await talk.until("error"))["error"]["code"] == "unknown_event"


@pytest.mark.parametrize(
    ("output", "question", "answer"),
    [
        ({"status": "no_results"}, "Who?", "I found nothing about that in the documents."),
        ({"status": "no_results"}, "谁？", "我在文档里没有找到相关内容。"),
        ({"status": "timeout"}, "Who?", "I could not look that up just now."),
        ({"status": "unavailable"}, "谁？", "我现在没能查到这个问题。"),
        ({"status": "ok", "results": []}, "Who?", "I found nothing about that in the documents."),
        ({"status": "ok", "results": [3, None]}, "Who?", "I found nothing about that in the documents."),
        ({}, "Who?", "I could not look that up just now."),
        (found("Cats sleep."), "Which dog barks?", "I found nothing about that in the documents."),
    ],
)
def test_it_is_honest_in_the_language_of_the_question(output: dict[str, Any], question: str, answer: str) -> None:
    """Nothing is made up where nothing fits."""
    assert answer_from(output, question) == answer
