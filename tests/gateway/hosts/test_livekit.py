"""LiveKit Agents, in a session of its own with a realtime model behind a real websocket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from livekit.agents import Agent, AgentSession
from livekit.agents.voice.run_result import RunResult
from livekit.plugins.openai.realtime import RealtimeModel

from gateway import KnowledgeTool
from gateway.hosts.livekit import ShowCitations, knowledge_tools
from gateway.realtime.embedded_model import EmbeddedModel
from knowledge_provider import Citation
from tests.gateway.hosts.held_provider import HeldProvider

QUESTION = "How many reviewers does a release need?"


@asynccontextmanager
async def agent_session(
    tool: KnowledgeTool, show_citations: ShowCitations | None = None
) -> AsyncIterator[AgentSession[None]]:
    model = EmbeddedModel()
    await model.start()
    voice = RealtimeModel(base_url=model.url, api_key="none", modalities=["text"], turn_detection=None)
    try:
        async with AgentSession[None](llm=voice) as session:
            tools = knowledge_tools(tool, owner_id="ada", show_citations=show_citations)
            await session.start(Agent(instructions="Answer.", tools=list(tools)))
            yield session
    finally:
        await voice.aclose()
        await model.aclose()


def outputs(result: RunResult[None]) -> list[str]:
    return [event.item.output for event in result.events if event.type == "function_call_output"]


async def test_the_agent_speaks_what_the_tool_found(tool: KnowledgeTool) -> None:
    """The links go to the callback, which sends them to the room; the words go to the model."""
    shown: list[Citation] = []

    async def show(citations: tuple[Citation, ...]) -> None:
        shown.extend(citations)

    async with asyncio.timeout(60), agent_session(tool, show) as session:
        result: RunResult[None] = await session.run(user_input=QUESTION)
    (output,) = outputs(result)
    assert json.loads(output)["status"] == "ok"
    assert [citation.uri for citation in shown] == ["https://docs.example.com/releases"]
    said = [event.item.text_content for event in result.events if event.type == "message"]
    assert said[-1] == "According to Release handbook, Two reviewers, ada."


async def test_an_interrupted_speech_ends_its_lookup_at_once(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """LiveKit waits for tools when it is interrupted; the retrieval would go on otherwise until its deadline."""
    provider.hold()
    async with asyncio.timeout(60), agent_session(tool) as session:
        result: RunResult[None] = session.run(user_input=QUESTION)
        await provider.entered.wait()
        async with asyncio.timeout(30):
            await session.interrupt()
            await provider.cancelled.wait()
            await result
    (output,) = outputs(result)
    assert json.loads(output)["status"] == "superseded"


async def test_each_speech_is_a_turn_of_its_own(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """The same question in the next turn is asked again, not answered as repeated."""
    async with asyncio.timeout(60), agent_session(tool) as session:
        found = [outputs(await session.run(user_input=QUESTION)) for _ in range(4)]
    assert [json.loads(output)["status"] for (output,) in found] == ["ok"] * 4
    assert len({context.turn_id for _, context in provider.asked}) == 4


async def test_without_a_provider_there_is_no_tool(empty_tool: KnowledgeTool) -> None:
    """A host offers what there is."""
    assert knowledge_tools(empty_tool) == []
