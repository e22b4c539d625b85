"""An MCP server with retrieval tools of every shape; started as `stdio` or as `http PORT [json]`."""

import asyncio
import json
import os
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

ROWS: list[dict[str, Any]] = [
    {"id": "release-1", "title": "Releases", "text": "Releases require two reviewers.", "score": 48.17, "owner": "ann"},
    {"id": "travel-1", "title": "Travel", "text": "Travel is booked by the office.", "score": 0.0, "owner": "bob"},
]


def make_server(events: list[str] | None = None) -> MCPServer:
    """Make the server; ``events`` hears of calls that were cancelled."""
    heard = events if events is not None else []
    server = MCPServer("search", log_level="CRITICAL")

    @server.tool()
    async def search(query: str, top_k: int = 5, owner: str = "") -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        return [row for row in ROWS if owner in ("", row["owner"])][:top_k]

    @server.tool()
    def wrapped(query: str) -> dict[str, Any]:
        return {"total": 2, "results": ROWS}

    @server.tool()
    def nested(query: str) -> dict[str, Any]:
        return {"result": {"documents": ROWS}}

    @server.tool()
    def one(query: str) -> dict[str, Any]:
        return {"title": "Releases", "text": "Releases require two reviewers."}

    @server.tool()
    def strings(query: str) -> list[str]:
        return ["Releases require two reviewers.", "Travel is booked by the office."]

    @server.tool(structured_output=False)
    def json_text(query: str) -> str:
        return json.dumps({"results": ROWS})

    @server.tool(structured_output=False)
    def prose(query: str) -> str:
        return "No matching sections found" if query == "nothing" else "Releases require two reviewers."

    @server.tool()
    def count(query: str) -> dict[str, int]:
        return {"total": 2}

    @server.tool()
    def fails(query: str) -> list[dict[str, Any]]:
        raise ValueError("db down password=hunter2")

    @server.tool()
    def huge(query: str) -> list[str]:
        return ["x" * int(query)]

    @server.tool()
    async def hang(query: str) -> list[str]:
        heard.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            heard.append("ended")
        return []

    @server.tool()
    def leave(query: str) -> list[str]:
        os._exit(3)

    return server


class Said(list[str]):
    """Events of a server that is a process of its own: each is a line on standard output."""

    def append(self, event: str) -> None:
        print(event, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "http":
        make_server(Said()).run("streamable-http", port=int(sys.argv[2]), json_response=sys.argv[3:] == ["json"])
    else:
        make_server().run("stdio")
