"""Half of a character, as an escape of JSON can say it, costs nobody an event."""

import json
from typing import Any

ESCAPE = "\\ud83d"
"""As it stands in the text of a message."""


async def send_escaped(peer: Any, type: str, **fields: Any) -> None:
    """Send an event in which every ``HALF`` becomes the escape of half a character."""
    await peer.socket.send_str(json.dumps({"type": type, **fields}).replace("HALF", ESCAPE))


async def test_what_the_model_says_reaches_the_client(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """The end of the response as well, so that nobody waits for it."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await model.connection()
        item = {"id": "i", "type": "message", "content": [{"type": "output_text", "text": "x HALF"}]}
        await peer.send("response.created", response={"id": "r1", "status": "in_progress"})
        await send_escaped(peer, "response.output_item.added", response_id="r1", output_index=0, item=item)
        await send_escaped(peer, "response.done", response={"id": "r1", "status": "completed", "output": [item]})
        assert (await client.until("response.output_item.added"))["item"]["content"][0]["text"] == "x \ufffd"
        assert (await client.until("response.done"))["response"]["output"][0]["content"][0]["text"] == "x \ufffd"


async def test_a_query_is_told_cited_and_answered(model, open_gateway, dial, provider) -> None:  # type: ignore[no-untyped-def]
    """The events beside the protocol as well as the output of the call."""
    settings = {"upstream": model.url}
    async with open_gateway(provider, **settings) as gateway, dial(gateway, "?knowledge_events=1") as client:
        peer = await model.connection()
        arguments = json.dumps({"query": "reviewers HALF"}).replace("HALF", ESCAPE)
        item = {"id": "i", "type": "function_call", "name": "knowledge", "call_id": "c1", "status": "completed"}
        item["arguments"] = arguments
        await peer.send("response.created", response={"id": "r1", "status": "in_progress"})
        await peer.send("response.output_item.done", response_id="r1", output_index=0, item=item)
        await peer.send("response.done", response={"id": "r1", "status": "completed", "output": [item]})
        assert (await client.until("knowledge.started"))["query"] == "reviewers "
        assert (await client.until("knowledge.completed"))["status"] == "ok"
        assert (await client.until("knowledge.citations"))["citations"]
        assert json.loads((await peer.until("conversation.item.create"))["item"]["output"])["status"] == "ok"


async def test_what_the_client_asks_for_reaches_the_model(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """And what the model gives back of it is recognised as the answer."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await model.connection()
        for number in (1, 2):
            metadata = {"x": f"HALF {number}"}
            await send_escaped(client, "response.create", event_id=f"c{number}", response={"metadata": metadata})
            asked = await peer.until("response.create")
            assert asked["response"]["metadata"] == {"x": f"\ufffd {number}"}
            response = {"id": f"r{number}", "metadata": asked["response"]["metadata"], "output": []}
            await peer.send("response.created", response={**response, "status": "in_progress"})
            await peer.send("response.done", response={**response, "status": "completed"})
            assert (await client.until("response.done"))["response"]["id"] == f"r{number}"
