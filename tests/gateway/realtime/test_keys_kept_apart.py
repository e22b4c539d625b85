"""A client's token and the model's key stay on their own sides of the gateway."""

import asyncio
import json
import logging

import aiohttp
import pytest

from gateway.owners import token_hash
from tests.gateway.realtime.played import PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import Stage, dial, open_gateway


async def test_neither_side_is_shown_the_key_of_the_other(
    model: PlayedModel, provider: WatchedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """A client's token is in nothing that the model, the client, a log or the metrics get; the model's key neither."""
    caplog.set_level(logging.DEBUG)
    bearer = {"Authorization": "Bearer ep_client"}
    keys = {"upstream_key": "sk-model", "token_hashes": f"ana:{token_hash('ep_client')}"}
    async with (
        open_gateway(provider, upstream=model.url, metrics=True, **keys) as gateway,
        dial(gateway, events=True, headers=bearer) as client,
        aiohttp.ClientSession(headers=bearer) as http,
    ):
        stage = Stage(gateway, client, await model.connection())
        await stage.model.send("session.created", session={"id": "sess", "tools": []})
        await stage.calls()
        seen = [await stage.model.next() for _ in range(3)] + [await client.next() for _ in range(4)]
        async with asyncio.timeout(5), http.get(f"{gateway.http_url}/metrics") as answer:
            metrics = await answer.text()
    request = model.requests[0]
    assert request.headers["Authorization"] == "Bearer sk-model"
    assert "earpiece" in metrics
    assert "ep_client" not in str((request.raw_headers, request.url))
    assert not [text for text in (json.dumps(seen), metrics, caplog.text) if "ep_client" in text or "sk-model" in text]
