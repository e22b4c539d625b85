"""A client's token and the model's key stay on their own sides of the gateway."""

import json
import logging

import aiohttp

from gateway.owners import token_hash


async def test_neither_side_is_shown_the_key_of_the_other(  # type: ignore[no-untyped-def]
    model, open_gateway, dial, provider, turn, caplog
) -> None:
    """A client's token is in nothing that the model, the client, a log or the metrics get; the model's key neither."""
    caplog.set_level(logging.DEBUG)
    bearer = {"Authorization": "Bearer ep_client"}
    values = {"upstream": model.url, "upstream_key": "sk-model", "metrics": True}
    values["token_hashes"] = f"ana:{token_hash('ep_client')}"
    async with (
        open_gateway(provider, **values) as gateway,
        dial(gateway, "?knowledge_events=1", headers=bearer) as client,
        aiohttp.ClientSession(headers=bearer) as http,
    ):
        peer = await model.connection()
        await peer.send("session.created", session={"id": "sess", "tools": []})
        origin = turn(peer)
        await origin.begin()
        await origin.call("call_1")
        await origin.end()
        seen = [await peer.next() for _ in range(3)] + [await client.next() for _ in range(4)]
        async with http.get(f"{gateway.http_url}/metrics") as answer:
            metrics = await answer.text()
    request = model.requests[0]
    assert request.headers["Authorization"] == "Bearer sk-model"
    assert "earpiece" in metrics
    assert "ep_client" not in str((request.raw_headers, request.url))
    assert not [text for text in (json.dumps(seen), metrics, caplog.text) if "ep_client" in text or "sk-model" in text]
