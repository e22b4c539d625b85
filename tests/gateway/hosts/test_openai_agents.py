"""The OpenAI Agents SDK: a realtime session over the SDK's own scripted model, and a text agent."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.realtime import RealtimeAgent, RealtimeRunner
from agents.realtime.items import InputText, UserMessageItem
from agents.realtime.model_events import (
    RealtimeModelAudioInterruptedEvent,
    RealtimeModelEvent,
    RealtimeModelItemUpdatedEvent,
    RealtimeModelRawServerEvent,
    RealtimeModelToolCallEvent,
)
from agents.realtime.model_inputs import RealtimeModelSendToolOutput
from agents.realtime.testing import ScriptedRealtimeModel
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from gateway import KnowledgeTool
from gateway.hosts.openai_agents import AgentKnowledge
from knowledge_provider import Citation
from tests.gateway.hosts.held_provider import HeldProvider

ARGUMENTS = json.dumps({"query": "How many reviewers?"})


class Conversation:
    """A realtime session, with what its model is sent."""

    def __init__(self, model: ScriptedRealtimeModel) -> None:
        self.model = model
        self.emit = model.emit
        self.answered: asyncio.Queue[str] = asyncio.Queue()

    async def call(self, call_id: str) -> None:
        await self.emit(RealtimeModelToolCallEvent(name="knowledge", call_id=call_id, arguments=ARGUMENTS))

    def outputs(self) -> list[str]:
        sent = [event for event in self.model.sent_events if isinstance(event, RealtimeModelSendToolOutput)]
        return [json.loads(event.output)["status"] for event in sent]


@asynccontextmanager
async def realtime(knowledge: AgentKnowledge) -> AsyncIterator[Conversation]:
    model = ScriptedRealtimeModel(strict=False)
    agent = RealtimeAgent(name="Assistant", tools=list(knowledge.tools))
    session = await RealtimeRunner(agent, model=model, config={"tracing_disabled": True}).run()
    async with session:
        knowledge.follow(session)
        conversation = Conversation(model)
        answers = asyncio.create_task(_gather(session, conversation.answered))
        yield conversation
        answers.cancel()
        await asyncio.wait([answers])


async def _gather(session: Any, answered: "asyncio.Queue[str]") -> None:
    async for event in session:
        if event.type == "tool_end":
            answered.put_nowait(event.output)


async def test_a_realtime_agent_hears_what_the_tool_found(tool: KnowledgeTool) -> None:
    """The output goes to the model, the links to the callback."""
    shown: list[Citation] = []
    knowledge = AgentKnowledge(tool, owner_id="ada", show_citations=shown.extend)
    async with asyncio.timeout(30), realtime(knowledge) as conversation:
        await conversation.call("call_1")
        output = json.loads(await conversation.answered.get())
    assert output["results"][0]["content"] == "Two reviewers, ada."
    assert [citation.uri for citation in shown] == ["https://docs.example.com/releases"]


@pytest.mark.parametrize(
    "interruption",
    [
        lambda: RealtimeModelAudioInterruptedEvent(item_id="item_1", content_index=0),
        lambda: RealtimeModelRawServerEvent(data={"type": "input_audio_buffer.speech_started"}),
    ],
    ids=["interrupted audio", "speech over silence"],
)
async def test_an_interruption_ends_the_lookup(
    tool: KnowledgeTool, provider: HeldProvider, interruption: Callable[[], RealtimeModelEvent]
) -> None:
    """The SDK lets its tools run on; ours ends, and its call is settled as superseded."""
    provider.hold()
    async with asyncio.timeout(30), realtime(AgentKnowledge(tool)) as conversation:
        await conversation.call("call_1")
        await provider.entered.wait()
        await conversation.emit(interruption())
        await provider.cancelled.wait()
        output = json.loads(await conversation.answered.get())
    assert output["status"] == "superseded"


async def test_each_message_of_the_user_begins_a_turn(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """The same question in a new turn is asked again; within the turn it is answered as repeated."""

    def said(item_id: str) -> RealtimeModelItemUpdatedEvent:
        item = UserMessageItem(item_id=item_id, content=[InputText(text="How many?")])
        return RealtimeModelItemUpdatedEvent(item=item)

    statuses = []
    async with asyncio.timeout(30), realtime(AgentKnowledge(tool)) as conversation:
        for call_id, item_id in enumerate(["item_1", "item_1", "item_2"]):
            await conversation.emit(said(item_id))
            await conversation.call(f"call_{call_id}")
            statuses.append(json.loads(await conversation.answered.get())["status"])
    assert statuses == ["ok", "repeated", "ok"]


class CallsOnce(Model):
    """A text model that calls the tool and then says what came back."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        last = input[-1] if isinstance(input, list) else {}
        if last.get("type") == "function_call_output":
            text = ResponseOutputText(text=last["output"], type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="msg_1", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)
        call = ResponseFunctionToolCall(call_id="call_1", name="knowledge", arguments=ARGUMENTS, type="function_call")
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_a_text_agent_uses_the_same_tool(tool: KnowledgeTool) -> None:
    """``Runner.run`` finds the tool, runs it, and gives its output back to the model."""
    knowledge = AgentKnowledge(tool, owner_id="ada")
    agent = Agent(name="Assistant", model=CallsOnce(), tools=list(knowledge.tools))
    async with asyncio.timeout(30):
        result = await Runner.run(agent, "How many reviewers?", run_config=RunConfig(tracing_disabled=True))
    assert json.loads(result.final_output)["results"][0]["content"] == "Two reviewers, ada."


async def test_without_a_provider_there_is_no_tool(empty_tool: KnowledgeTool) -> None:
    """A host offers what there is."""
    assert AgentKnowledge(empty_tool).tools == []
