"""The knowledge tool as an MCP server, asked by an MCP client over real HTTP: each person's token says whose it is."""

import asyncio
import json
import socket

import uvicorn
from handbook_tool import QUESTIONS, handbook_tool  # type: ignore[import-not-found]
from mcp.client import Client

from gateway.hosts.mcp_server import CITATIONS, mcp_application
from gateway.realtime.extractive_answer import answer_from


async def main() -> None:
    async with handbook_tool() as tool:
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(mcp_application(tool), log_level="warning"))
        serving = asyncio.create_task(server.serve([listening]))
        async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp") as client:
            for question in QUESTIONS:
                print(f"You        {question}")
                result = await client.call_tool("knowledge", {"query": question})
                print(f"Citations  {[citation['uri'] for citation in (result.meta or {}).get(CITATIONS, [])]}")
                (text,) = (part.text for part in result.content if part.type == "text")
                print(f"Assistant  {answer_from(json.loads(text), question)}")
        server.should_exit = True
        await serving
        listening.close()


asyncio.run(main())
