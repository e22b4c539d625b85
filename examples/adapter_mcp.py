"""A retrieval tool of an MCP server, here one in this process; a URL or StdioServerParameters serve as well."""

import asyncio

from mcp.server.mcpserver import MCPServer

from adapters.mcp import McpProvider
from gateway import FrontendKnowledgeRuntime

server = MCPServer("handbook", log_level="ERROR")


@server.tool()
def search(query: str, limit: int = 5, owner: str = "") -> list[dict[str, str]]:
    """Find passages of the handbook."""
    return [{"id": "release-1", "title": "Releases", "text": f"{owner} needs two reviewers for a release."}][:limit]


async def main() -> None:
    provider = McpProvider(
        server,
        "search",
        key="mcp",
        label="Handbook",
        top_k_arg="limit",
        owner_arguments=lambda context: {"owner": context.owner_id},
    )
    async with FrontendKnowledgeRuntime(provider) as runtime:
        print("health:", (await runtime.health()).status)
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        for result in response.results:
            print(f"{result.source.title}: {result.content}")


if __name__ == "__main__":
    asyncio.run(main())
