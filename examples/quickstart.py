"""A retrieval system of your own, behind a voice gateway, asked once. Nothing else needs to run."""

import asyncio

from gateway import create_gateway_application
from gateway.conversation import conversation


class Handbook:
    def describe(self):
        return {"protocolVersion": 1, "key": "handbook", "label": "Company handbook"}

    async def retrieve(self, request, context):
        source = {"title": "Release handbook", "uri": "https://docs.example.com/releases"}
        return [{"id": "42", "content": "Releases require two reviewers.", "source": source}]


async def main():
    async with create_gateway_application(Handbook()) as gateway, conversation(gateway.url) as talk:
        turn = await talk.answer("How many reviewers does a release need?")
        print(turn.answer)
        print(turn.citations)


asyncio.run(main())
