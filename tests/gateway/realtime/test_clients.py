"""Real clients, unchanged, in front of the gateway: each example is run as a user would run it."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings

ROOT = Path(__file__).resolve().parents[3]
NPM = ROOT / ".peers" / "npm"
QUESTION = "How many reviewers does a release need?"


class Handbook:
    """One document, with a link."""

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "handbook", "label": "Handbook"}

    async def retrieve(self, request: Any, context: Any) -> list[dict[str, Any]]:
        source = {"title": "Release handbook", "uri": "https://docs.example.com/releases"}
        return [{"id": "42", "content": "Releases require two reviewers.", "source": source}]


async def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a client to its end and return what it printed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(60):
            output, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    assert not complaints, complaints.decode()
    return output.decode().strip()


async def test_the_openai_sdk_gets_an_answer_from_the_documents() -> None:
    """The openai SDK needs its ``websocket_base_url`` changed and nothing else."""
    async with create_gateway_application(Handbook(), settings=GatewaySettings()) as gateway:
        base_url = gateway.url.removesuffix("/realtime")
        answer = await run(sys.executable, "-W", "error", "examples/openai_client.py", base_url, QUESTION)
    assert answer == "According to Release handbook, Releases require two reviewers."


async def test_an_openai_agents_session_gets_an_answer_from_the_documents() -> None:
    """openai-agents validates every event it is sent; it complains about none, and its own tools stay its own."""
    async with create_gateway_application(Handbook(), settings=GatewaySettings()) as gateway:
        answer = await run(sys.executable, "-W", "error", "examples/agents_client.py", gateway.url, QUESTION)
    assert answer == "According to Release handbook, Releases require two reviewers."


async def test_agents_realtime_for_javascript_gets_an_answer_from_the_documents(tmp_path: Path) -> None:
    """@openai/agents-realtime 0.20 in Node, over its own websocket transport."""
    if not (NPM / "complete").exists():
        if os.environ.get("CI") == "true":
            pytest.fail("the npm peers are not installed: run tests/peers/install_realtime.sh")
        pytest.skip("the npm peers are not installed: run tests/peers/install_realtime.sh")
    shutil.copy(ROOT / "examples" / "agents_realtime_js" / "client.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(NPM / "node_modules")
    async with create_gateway_application(Handbook(), settings=GatewaySettings()) as gateway:
        answer = await run("node", "client.mjs", gateway.url, QUESTION, cwd=tmp_path)
    assert answer == "According to Release handbook, Releases require two reviewers."


async def test_the_embedded_model_speaks_where_a_voice_is_installed() -> None:
    """The agents session asks for audio by default: with espeak-ng there are real samples beside the words."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    from openai import AsyncOpenAI

    async with create_gateway_application(Handbook(), settings=GatewaySettings()) as gateway:
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
    assert words == "According to Release handbook, Releases require two reviewers."
    assert audio > 24_000
