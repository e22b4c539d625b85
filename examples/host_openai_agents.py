"""The knowledge tool in the OpenAI Agents SDK: a realtime agent, here with the embedded model as its voice."""

import asyncio

from agents.realtime import RealtimeAgent, RealtimeRunner, RealtimeSession
from handbook_tool import QUESTIONS, handbook_tool  # type: ignore[import-not-found]

from gateway.hosts.openai_agents import AgentKnowledge
from gateway.realtime.embedded_model import EmbeddedModel
from knowledge_provider import Citation


def show(citations: tuple[Citation, ...]) -> None:
    print(f"Citations  {[citation.uri for citation in citations]}")


async def answer(session: RealtimeSession, question: str) -> str:
    await session.send_message(question)
    async for event in session:
        if event.type == "raw_model_event" and event.data.type == "raw_server_event":
            item = event.data.data.get("item") or {}
            if event.data.data["type"] == "response.output_item.done" and item.get("type") == "message":
                return str(item["content"][0]["text"])
    raise ConnectionError("the model has closed the connection")


async def main() -> None:
    model = EmbeddedModel()
    await model.start()
    async with handbook_tool() as tool:
        knowledge = AgentKnowledge(tool, show_citations=show)
        agent = RealtimeAgent(name="Assistant", tools=list(knowledge.tools))
        runner = RealtimeRunner(
            agent, config={"model_settings": {"output_modalities": ["text"]}, "tracing_disabled": True}
        )
        session = await runner.run(model_config={"url": model.url, "api_key": "none needed"})
        async with session:
            knowledge.follow(session)
            for question in QUESTIONS:
                print(f"You        {question}")
                print(f"Assistant  {await answer(session, question)}")
    await model.aclose()


asyncio.run(main())
