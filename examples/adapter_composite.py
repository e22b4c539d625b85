"""Two systems as one. The mailbox is too slow for a turn: the wiki answers, and the model hears what is missing."""

import asyncio

from adapters.composite import CompositeProvider
from adapters.function import FunctionProvider
from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from knowledge_provider import RawResults, RetrievalContext, RetrievalRequest


async def wiki(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
    return [{"id": "1", "content": "Releases require two reviewers.", "source": {"title": "Wiki"}}]


async def mailbox(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
    await asyncio.sleep(30)
    return []


async def main() -> None:
    provider = CompositeProvider(
        {
            "wiki": FunctionProvider(wiki, key="wiki", label="Wiki"),
            "mailbox": FunctionProvider(mailbox, key="mailbox", label="Mailbox"),
        },
        key="everything",
        label="Everything",
        share_seconds=0.3,
    )
    async with FrontendKnowledgeRuntime(provider) as runtime:
        outcome = await KnowledgeTool(runtime).call({"query": "Who reviews a release?"}, owner_id="ann")
        print("the model reads:", outcome.output)


if __name__ == "__main__":
    asyncio.run(main())
