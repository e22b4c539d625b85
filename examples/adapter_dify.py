"""A service built for Dify's external knowledge API, here one on loopback."""

import asyncio

from aiohttp import web

from adapters.dify import dify_provider
from gateway import FrontendKnowledgeRuntime


async def retrieval(request: web.Request) -> web.Response:
    """The shape that Dify's page describes."""
    body = await request.json()
    record = {"content": "Releases require two reviewers.", "score": 0.98, "title": "releases.md", "metadata": None}
    return web.json_response({"records": [record][: body["retrieval_setting"]["top_k"]]})


async def main() -> None:
    app = web.Application()
    app.router.add_post("/retrieval", retrieval)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/retrieval"

    provider = dify_provider(url, "kb-handbook", key="dify", label="Handbook", api_key="...")
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        found = response.results[0]
        print(f"{found.source.title}: {found.content} (score {found.score})")
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
