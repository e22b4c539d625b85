"""The knowledge tool in LiveKit Agents: an agent with a realtime model, here the embedded one, asked in text."""

import asyncio
import json

from handbook_tool import QUESTIONS, handbook_tool  # type: ignore[import-not-found]
from livekit.agents import Agent, AgentSession
from livekit.agents.voice.run_result import RunResult
from livekit.plugins.openai.realtime import RealtimeModel

from gateway.hosts.livekit import knowledge_tools
from gateway.realtime.embedded_model import EmbeddedModel
from knowledge_provider import Citation


async def show(citations: tuple[Citation, ...]) -> None:
    # In a room: await room.local_participant.send_text(..., topic="knowledge.citations")
    print(f"Citations  {json.dumps([citation.uri for citation in citations])}")


async def main() -> None:
    model = EmbeddedModel()
    await model.start()
    voice = RealtimeModel(base_url=model.url, api_key="none needed", modalities=["text"], turn_detection=None)
    async with handbook_tool() as tool, AgentSession(llm=voice) as session:
        agent = Agent(instructions="Answer from the handbook.", tools=list(knowledge_tools(tool, show_citations=show)))
        await session.start(agent)
        for question in QUESTIONS:
            print(f"You        {question}")
            result: RunResult[None] = await session.run(user_input=question)
            said = [event.item.text_content for event in result.events if event.type == "message"]
            print(f"Assistant  {said[-1]}")
    await voice.aclose()
    await model.aclose()


asyncio.run(main())
