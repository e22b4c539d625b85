"""The MCP server: real clients, in memory and over HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from gateway import KnowledgeTool
from gateway.hosts.mcp_server import CITATIONS, mcp_application, mcp_server
from gateway.owners import Owners, TokenFile
from tests.gateway.hosts.held_provider import HeldProvider

QUERY = {"query": "How many reviewers?"}


def text_of(result: CallToolResult) -> Any:
    (text,) = (part.text for part in result.content if part.type == "text")
    return json.loads(text)


async def test_a_client_finds_the_tool_with_its_bounds(tool: KnowledgeTool) -> None:
    """What a voice model may send is what an MCP client may send."""
    async with asyncio.timeout(30), Client(mcp_server(tool)) as client:
        (offered,) = (await client.list_tools()).tools
    definition = tool.definition
    assert definition is not None
    assert (offered.name, offered.description) == ("knowledge", definition["description"])
    assert offered.input_schema == definition["parameters"]


async def test_a_call_is_framed_and_its_links_stay_beside_it(tool: KnowledgeTool) -> None:
    """The model reads the untrusted-data notice and no link; the client finds the links in the metadata."""
    async with asyncio.timeout(30), Client(mcp_server(tool)) as client:
        result = await client.call_tool("knowledge", {**QUERY, "owner_id": "eve"})
    output = text_of(result)
    assert not result.is_error
    assert output["status"] == "ok"
    assert output["notice"]
    assert output["results"][0]["content"] == "Two reviewers, personal."
    assert "docs.example.com" not in str(result.content)
    assert (result.meta or {})[CITATIONS][0]["uri"] == "https://docs.example.com/releases"


async def test_a_refusal_is_an_error_with_a_sentence(tool: KnowledgeTool) -> None:
    """A client sees that the call failed, and the model reads what to send instead."""
    async with asyncio.timeout(30), Client(mcp_server(tool)) as client:
        result = await client.call_tool("knowledge", {"query": ""})
        with pytest.raises(MCPError):
            await client.call_tool("shell", QUERY)
    assert result.is_error
    assert text_of(result)["status"] == "invalid_request"


async def test_a_cancelled_request_cancels_the_retrieval(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """The provider hears that nobody waits any more."""
    provider.hold()
    async with asyncio.timeout(30), Client(mcp_server(tool)) as client:
        call = asyncio.create_task(client.call_tool("knowledge", QUERY))
        await provider.entered.wait()
        call.cancel()
        await provider.cancelled.wait()
        await asyncio.wait([call])


async def test_without_a_provider_there_is_no_tool(empty_tool: KnowledgeTool) -> None:
    """A host offers what there is."""
    async with asyncio.timeout(30), Client(mcp_server(empty_tool)) as client:
        assert (await client.list_tools()).tools == []
        with pytest.raises(MCPError):
            await client.call_tool("knowledge", QUERY)


@asynccontextmanager
async def served(tool: KnowledgeTool, owners: Owners | None) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(mcp_application(tool, owners=owners), log_level="error", lifespan="on")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await serving


async def test_over_http_the_token_says_who_asks(tool: KnowledgeTool, tmp_path: Path) -> None:
    """Two tokens, two owners; a request without a known token is refused before the tool is reached."""
    file = TokenFile(tmp_path / "tokens.json")
    secrets = {owner: file.create(owner)[1] for owner in ("ada", "bob")}
    async with asyncio.timeout(60), served(tool, Owners(file=file)) as url:
        for owner, secret in secrets.items():
            headers = {"Authorization": f"Bearer {secret}"}
            http = httpx2.AsyncClient(headers=headers)
            async with http, Client(streamable_http_client(url, http_client=http)) as client:
                result = await client.call_tool("knowledge", {**QUERY, "owner_id": "eve"})
            assert text_of(result)["results"][0]["content"] == f"Two reviewers, {owner}."
        async with httpx2.AsyncClient() as http:
            for headers in ({}, {"Authorization": "Bearer ep_unknown"}):
                refused = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
                assert refused.status_code == 401


async def test_other_machines_need_tokens(tool: KnowledgeTool) -> None:
    """A server without tokens is for this machine alone."""
    with pytest.raises(ValueError, match="token"):
        mcp_application(tool, host="0.0.0.0")
