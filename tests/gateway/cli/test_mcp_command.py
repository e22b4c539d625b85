"""``earpiece mcp`` serves a real MCP client over a pipe, and over HTTP by token."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from gateway.owners import TokenFile

EARPIECE = str(Path(sys.executable).with_name("earpiece"))


async def test_a_client_that_starts_the_command_finds_the_documents(tmp_path: Path) -> None:
    """Nothing but the protocol is on standard output, and the index goes to the user's cache."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "releases.md").write_text("# Releases\n\nEvery release needs two reviewers.\n")
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    server = StdioServerParameters(command=EARPIECE, args=["mcp", "--library", str(documents)], env=environment)
    async with asyncio.timeout(60), Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        result = await client.call_tool(tool.name, {"query": "How many reviewers does a release need?"})
    (text,) = (part.text for part in result.content if part.type == "text")
    assert "two reviewers" in json.loads(text)["results"][0]["content"]


@pytest.mark.parametrize("options", [[], ["--library", ".", "--provider", "http"]], ids=["none", "two"])
def test_it_wants_one_source(options: list[str]) -> None:
    """What can be mended is said in one line on stderr."""
    finished = subprocess.run([EARPIECE, "mcp", *options], capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 1
    assert "--library FOLDER or --provider NAME" in finished.stderr
    assert finished.stderr.count("\n") == 1


async def test_over_http_the_tokens_of_the_file_say_who_asks(tmp_path: Path, unused_tcp_port: int) -> None:
    """A provider by name, two tokens, two owners; whoever has none is refused."""
    (tmp_path / "notes.py").write_text(
        "async def search(request, context):\n    return [{'id': '1', 'content': 'Notes of ' + context.owner_id}]\n"
    )
    config, tokens = tmp_path / "notes.json", TokenFile(tmp_path / "tokens.json")
    config.write_text(json.dumps({"key": "notes", "label": "Notes", "function": "notes:search"}))
    secrets = {owner: tokens.create(owner)[1] for owner in ("ada", "bob")}
    options = [
        "--provider",
        "function",
        "--provider-config",
        str(config),
        "--tokens-file",
        str(tmp_path / "tokens.json"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    url = f"http://127.0.0.1:{unused_tcp_port}/mcp"
    process = await asyncio.create_subprocess_exec(
        EARPIECE, "mcp", "--http", "--port", str(unused_tcp_port), *options, env=environment, cwd=tmp_path
    )
    try:
        async with asyncio.timeout(60), httpx2.AsyncClient() as http:
            while await _status(http, url) is None:  # noqa: ASYNC110 - another process sets no event here
                await asyncio.sleep(0.05)
            assert await _status(http, url) == 401
            found = {owner: await _found(url, secret) for owner, secret in secrets.items()}
        assert found == {owner: f"Notes of {owner}" for owner in secrets}
        process.terminate()
        async with asyncio.timeout(30):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _status(http: httpx2.AsyncClient, url: str) -> int | None:
    try:
        return (await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})).status_code
    except httpx2.ConnectError:
        return None


async def _found(url: str, secret: str) -> str:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"})
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        result = await client.call_tool("knowledge", {"query": "notes", "owner_id": "eve"})
    (text,) = (part.text for part in result.content if part.type == "text")
    return str(json.loads(text)["results"][0]["content"])


def test_a_busy_port_is_one_clear_line(tmp_path: Path) -> None:
    """The person learns which port, in our words and with our status."""
    (tmp_path / "releases.md").write_text("# Releases\n\nEvery release needs two reviewers.\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        finished = subprocess.run(
            [EARPIECE, "mcp", "--http", "--port", port, "--library", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr.strip() == (
        f"earpiece: 127.0.0.1:{port} is busy. Another gateway may be running; choose another with --port."
    )
