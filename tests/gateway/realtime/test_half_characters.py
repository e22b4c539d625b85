"""Half of a character, as an escape of JSON can say it, costs nobody an event."""

import json
from typing import Any

from tests.gateway.realtime.played import Peer, PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import staged

ESCAPE = "\\ud83d"
"""As it stands in the text of a message."""


async def send_escaped(peer: Peer, type: str, **fields: Any) -> None:
    """Send an event in which every ``HALF`` becomes the escape of half a character."""
    await peer.socket.send_str(json.dumps({"type": type, **fields}).replace("HALF", ESCAPE))


async def test_what_the_model_says_reaches_the_client(model: PlayedModel) -> None:
    """The end of the response as well, so that nobody waits for it."""
    async with staged(model, None) as stage:
        item = {"id": "i", "type": "message", "content": [{"type": "output_text", "text": "x HALF"}]}
        await stage.turn("r1").begin()
        await send_escaped(stage.model, "response.output_item.added", response_id="r1", output_index=0, item=item)
        done = {"id": "r1", "status": "completed", "output": [item]}
        await send_escaped(stage.model, "response.done", response=done)
        assert (await stage.client.until("response.output_item.added"))["item"]["content"][0]["text"] == "x \ufffd"
        shown = (await stage.client.until("response.done"))["response"]
        assert shown["output"][0]["content"][0]["text"] == "x \ufffd"


async def test_a_query_is_told_cited_and_answered(model: PlayedModel, provider: WatchedProvider) -> None:
    """The events beside the protocol as well as the output of the call."""
    async with staged(model, provider, events=True) as stage:
        await stage.calls(query="reviewers \ud83d")
        assert (await stage.client.until("knowledge.started"))["query"] == "reviewers "
        assert (await stage.client.until("knowledge.completed"))["status"] == "ok"
        assert (await stage.client.until("knowledge.citations"))["citations"]
        assert (await stage.output())["status"] == "ok"


async def test_what_the_client_asks_for_reaches_the_model(model: PlayedModel) -> None:
    """And what the model gives back of it is recognised as the answer."""
    async with staged(model, None) as stage:
        for number in (1, 2):
            metadata = {"x": f"HALF {number}"}
            await send_escaped(stage.client, "response.create", event_id=f"c{number}", response={"metadata": metadata})
            asked = (await stage.model.until("response.create"))["response"]
            assert asked["metadata"] == {"x": f"\ufffd {number}"}
            response = {"id": f"r{number}", "metadata": asked["metadata"], "output": []}
            await stage.model.send("response.created", response={**response, "status": "in_progress"})
            await stage.model.send("response.done", response={**response, "status": "completed"})
            assert (await stage.client.until("response.done"))["response"]["id"] == f"r{number}"
