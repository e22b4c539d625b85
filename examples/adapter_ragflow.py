"""Datasets of a RAGFlow server. Without RAGFLOW_URL, RAGFLOW_KEY and RAGFLOW_DATASET one on loopback stands in."""

import asyncio
import os

from aiohttp import web

from adapters.ragflow import RAGFlowProvider
from gateway import FrontendKnowledgeRuntime


async def retrieval(request: web.Request) -> web.Response:
    """RAGFlow's answer to POST /api/v1/retrieval."""
    body = await request.json()
    chunk = {
        "id": "c1",
        "content": "Releases require two reviewers.",
        "document_id": "d1",
        "document_keyword": "releases.pdf",
        "dataset_id": body["dataset_ids"][0],
        "similarity": 0.61,
        "positions": [[3, 70, 520, 100, 120]],
    }
    return web.json_response({"code": 0, "data": {"chunks": [chunk], "doc_aggs": [], "total": 1}})


async def main() -> None:
    app = web.Application()
    app.router.add_post("/api/v1/retrieval", retrieval)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    loopback = f"http://127.0.0.1:{runner.addresses[0][1]}"

    url, key = os.environ.get("RAGFLOW_URL", loopback), os.environ.get("RAGFLOW_KEY", "none")
    datasets = {"handbook": os.environ.get("RAGFLOW_DATASET", "ds-handbook")}
    provider = RAGFlowProvider(url, key, datasets, key="ragflow", label="Handbook")
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=8.0) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        for result in response.results:
            print(f"{result.source.title}, {result.source.locator}: {result.content}")
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
