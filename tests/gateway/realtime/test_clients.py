"""Real clients, unchanged, in front of the gateway: each example is run as a user would run it."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.gateway.realtime.programs import PEERS, ROOT, needs, needs_espeak, printed
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import open_gateway

QUESTION = "How many reviewers does a release need?"
ANSWER = "According to Release handbook, Releases require two reviewers."


async def test_the_openai_sdk_gets_an_answer_from_the_documents(provider: WatchedProvider) -> None:
    """The openai SDK needs its ``websocket_base_url`` changed and nothing else."""
    async with open_gateway(provider) as gateway:
        base_url = gateway.url.removesuffix("/realtime")
        printout = await printed(sys.executable, "-W", "error", "examples/openai_client.py", base_url, QUESTION)
    assert printout == (ANSWER, "")


async def test_an_openai_agents_session_gets_an_answer_from_the_documents(provider: WatchedProvider) -> None:
    """openai-agents validates every event it is sent; it complains about none, and its own tools stay its own."""
    async with open_gateway(provider) as gateway:
        printout = await printed(sys.executable, "-W", "error", "examples/agents_client.py", gateway.url, QUESTION)
    assert printout == (ANSWER, "")


async def test_agents_realtime_for_javascript_gets_an_answer_from_the_documents(
    provider: WatchedProvider, tmp_path: Path
) -> None:
    """@openai/agents-realtime 0.20 in Node, over its own websocket transport."""
    needs("npm")
    shutil.copy(ROOT / "examples" / "agents_realtime_js" / "client.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(PEERS / "npm" / "node_modules")
    async with open_gateway(provider) as gateway:
        printout = await printed("node", "client.mjs", gateway.url, QUESTION, cwd=tmp_path)
    assert printout == (ANSWER, "")


async def test_the_embedded_model_speaks_where_a_voice_is_installed(provider: WatchedProvider) -> None:
    """The agents session asks for audio by default: with espeak-ng there are real samples beside the words."""
    needs_espeak()
    from openai import AsyncOpenAI

    async with open_gateway(provider) as gateway:
        client = AsyncOpenAI(websocket_base_url=gateway.url.removesuffix("/realtime"), api_key="none")
        audio, words = 0, ""
        async with client.realtime.connect(model="any") as connection:
            content: Any = [{"type": "input_text", "text": QUESTION}]
            item: Any = {"type": "message", "role": "user", "content": content}
            await connection.conversation.item.create(item=item)
            await connection.response.create()
            async with asyncio.timeout(20):
                async for event in connection:
                    if event.type == "response.output_audio.delta":
                        audio += len(event.delta)
                    elif event.type == "response.output_audio_transcript.delta":
                        words += event.delta
                    elif event.type == "response.done":
                        break
    assert words == ANSWER
    assert audio > 24_000
