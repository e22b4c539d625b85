"""The openai SDK, pointed at a gateway: nothing else changes, and the answer comes from your documents.

Start a gateway first (``make serve``), then: python examples/openai_client.py [BASE_URL] [QUESTION]
"""

import asyncio
import sys

from openai import AsyncOpenAI


async def ask(base_url: str, question: str) -> str:
    """Ask one question in text and return the answer."""
    client = AsyncOpenAI(websocket_base_url=base_url, api_key="a token of the gateway, where it has tokens")
    answer = ""
    async with client.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
        )
        await connection.response.create()
        async for event in connection:
            if event.type == "response.output_text.delta":
                answer += event.delta
            elif event.type == "error":
                raise SystemExit(event.error.message)
            elif event.type == "response.done":
                break
    return answer


if __name__ == "__main__":
    base_url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8787/v1"
    question = sys.argv[2] if len(sys.argv) > 2 else "How many reviewers does a release need?"
    print(asyncio.run(ask(base_url, question)))
