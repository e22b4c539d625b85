"""A retrieval service behind a URL, here one on loopback that answers the contract's own request."""

import asyncio

from aiohttp import web

from adapters.http_service import HttpProvider
from gateway import FrontendKnowledgeRuntime


async def answer(request: web.Request) -> web.Response:
    """What your service has to do: read the question and the owner, answer with rows."""
    body = await request.json()
    row = {"id": "release-1", "content": "Releases require two reviewers.", "source": {"title": "Release handbook"}}
    print("asked:", body["request"]["query"], "for", body["context"]["ownerId"])
    return web.json_response({"results": [row]})


async def main() -> None:
    app = web.Application()
    app.router.add_post("/search", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/search"

    provider = HttpProvider(url, key="company", label="Company search", headers={"Authorization": "Bearer ..."})
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        print("found:", response.results[0].content)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
