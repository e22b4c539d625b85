"""A function of your own as the knowledge of a voice agent: the shortest way for a system that no adapter knows."""

import asyncio

from adapters.function import FunctionProvider
from gateway import FrontendKnowledgeRuntime
from knowledge_provider import RawResults, RetrievalContext, RetrievalRequest

NOTES = {"ann": ["Ann's release needs two reviewers."], "bob": ["Bob's train leaves at nine."]}


async def search(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
    """Look only into the notes of who asks; the gateway vouches for the owner, the model cannot name one."""
    return [{"id": str(n), "content": note} for n, note in enumerate(NOTES.get(context.owner_id, []))]


async def main() -> None:
    provider = FunctionProvider(search, key="notes", label="Notes")
    async with FrontendKnowledgeRuntime(provider) as runtime:
        for owner in NOTES:
            response = await runtime.search("What should I know?", owner_id=owner)
            print(owner, "hears:", response.results[0].content)


if __name__ == "__main__":
    asyncio.run(main())
