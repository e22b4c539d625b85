"""Vector stores of OpenAI through its SDK. Without OPENAI_API_KEY and VECTOR_STORE a server on loopback stands in."""

import asyncio
import os

from aiohttp import web
from openai import AsyncOpenAI

from adapters.openai_file_search import OpenAIFileSearchProvider
from gateway import FrontendKnowledgeRuntime


async def search(request: web.Request) -> web.Response:
    """The API's answer to POST /v1/vector_stores/{id}/search."""
    chunk = {"type": "text", "text": "Releases require two reviewers."}
    item = {"file_id": "file-1", "filename": "releases.md", "score": 0.91, "attributes": {}, "content": [chunk]}
    return web.json_response({"object": "vector_store.search_results.page", "data": [item], "has_more": False})


async def main() -> None:
    app = web.Application()
    app.router.add_post("/v1/vector_stores/{store}/search", search)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    loopback = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    key, store = os.environ.get("OPENAI_API_KEY"), os.environ.get("VECTOR_STORE")
    client = AsyncOpenAI() if key and store else AsyncOpenAI(api_key="none", base_url=loopback)
    stores = {"handbook": store or "vs_handbook"}
    provider = OpenAIFileSearchProvider(client, stores, key="files", label="Files", owns_client=True)
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=8.0) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann", knowledge_base_ids=["handbook"])
        for result in response.results:
            print(f"{result.source.title}: {result.content} (score {result.score})")
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
