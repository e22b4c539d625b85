"""MCP servers as processes, and providers that ask them."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from adapters.mcp import McpProvider

SCRIPT = Path(__file__).with_name("search_server.py")


STDIO = StdioServerParameters(command=sys.executable, args=[str(SCRIPT), "stdio"])


@asynccontextmanager
async def asked(server: Any, tool: str = "search", **options: Any) -> AsyncIterator[McpProvider]:
    """A provider that is closed afterwards, with no task of its own left."""
    made = McpProvider(server, tool, key="mcp", label="MCP", **options)
    try:
        yield made
    finally:
        await made.close()
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert "earpiece-mcp" not in names


@asynccontextmanager
async def http_server(port: int, *arguments: str) -> AsyncIterator[Any]:
    """The server as a process of its own on a port of loopback, there until killed."""
    command = [sys.executable, str(SCRIPT), "http", str(port), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while not await _listens(port):  # noqa: ASYNC110 - another process sets no event here
                await asyncio.sleep(0.05)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
