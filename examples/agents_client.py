"""A RealtimeSession of openai-agents, pointed at a gateway. The agent has a tool of its own; `knowledge` is not in it.

Start a gateway first (``make serve``), then: python examples/agents_client.py [URL] [QUESTION]
"""

import asyncio
import sys

from agents import function_tool
from agents.realtime import AssistantMessageItem, RealtimeAgent, RealtimeItem, RealtimeRunner


@function_tool
def dim_lights(percent: int) -> str:
    """Dim the lights of the room."""
    return f"The lights are at {percent} percent."


async def ask(url: str, question: str) -> str:
    """Ask one question in text and return what the assistant said."""
    agent = RealtimeAgent(name="Receptionist", instructions="Answer from the documents.", tools=[dim_lights])
    token = "a token of the gateway, where it has tokens"  # noqa: S105
    session = await RealtimeRunner(agent).run(model_config={"url": url, "api_key": token})
    async with session:
        await session.send_message(question)
        async for event in session:
            if event.type == "error":
                raise SystemExit(str(event.error))
            if event.type == "history_updated" and (answer := _last_answer(event.history)):
                return answer
    return ""


def _last_answer(history: list[RealtimeItem]) -> str:
    last = history[-1] if history else None
    if not isinstance(last, AssistantMessageItem) or last.status != "completed":
        return ""
    return "".join((part.text if part.type == "text" else part.transcript) or "" for part in last.content)


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8787/v1/realtime"
    question = sys.argv[2] if len(sys.argv) > 2 else "How many reviewers does a release need?"
    print(asyncio.run(ask(url, question)))
