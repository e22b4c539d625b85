"""A retrieval system of your own, behind a voice gateway, asked once. Nothing else needs to run."""

import asyncio

from gateway import create_gateway_application
from gateway.conversation import conversation
from knowledge_provider import RetrievalContext, RetrievalRequest


class Handbook:
    def describe(self) -> dict[str, object]:
        return {"protocolVersion": 1, "key": "handbook", "label": "Company handbook"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, object]]:
        source = {"title": "Release handbook", "uri": "https://docs.example.com/releases"}
        return [{"id": "42", "content": "Releases require two reviewers.", "source": source}]


async def main() -> None:
    async with create_gateway_application(Handbook()) as gateway, conversation(gateway.url) as talk:
        turn = await talk.answer("How many reviewers does a release need?")
        print(turn.answer)
        print(turn.citations)


if __name__ == "__main__":
    asyncio.run(main())
