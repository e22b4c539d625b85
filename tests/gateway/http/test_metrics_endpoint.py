"""What an operator may read, and what is never in it."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.application import create_gateway_application
from gateway.conversation import conversation
from gateway.owners import TokenFile
from gateway.settings import GatewaySettings
from knowledge_provider import RetrievalContext, RetrievalRequest


class Provider:
    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "search", "label": "Search"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return [{"id": "1", "content": "Every release needs two reviewers."}]


async def metrics_of(url: str, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics", headers=headers) as response:
        return response.status, await response.text()


async def test_calls_and_times_are_measured_without_anybodys_words() -> None:
    """Prometheus reads the outcome, the latency and the times to first sound and answer of what was asked."""
    settings = GatewaySettings(metrics=True)
    async with asyncio.timeout(20), create_gateway_application(Provider(), settings=settings) as gateway:
        async with conversation(gateway.url) as talk:
            assert (await talk.answer("How many reviewers does Zanzibar need?")).status == "ok"
        status, text = await metrics_of(gateway.http_url)
    assert status == 200
    assert "gen_ai_execute_tool_duration_seconds_count{" in text
    assert 'earpiece_outcome="ok"' in text
    assert "earpiece_turn_first_sound_seconds_count" in text
    assert "earpiece_turn_answer_seconds_count" in text
    assert "earpiece_knowledge_abandoned" in text
    assert "Zanzibar" not in text
    assert "personal" not in text


async def test_two_gateways_in_a_process_are_measured_apart() -> None:
    """What one has done is not in the other's figures."""
    settings = GatewaySettings(metrics=True)
    async with (
        asyncio.timeout(20),
        create_gateway_application(Provider(), settings=settings) as busy,
        create_gateway_application(Provider(), settings=settings) as idle,
    ):
        await busy.runtime.search("reviewers", owner_id="ann")
        assert "gen_ai_execute_tool_duration" in (await metrics_of(busy.http_url))[1]
        assert "gen_ai_execute_tool_duration" not in (await metrics_of(idle.http_url))[1]


async def test_without_the_setting_there_is_no_such_page() -> None:
    """Nothing is collected that nobody reads."""
    async with create_gateway_application(Provider(), settings=GatewaySettings()) as gateway:
        assert (await metrics_of(gateway.http_url))[0] == 404


@pytest.mark.parametrize("known", [True, False])
async def test_where_tokens_are_needed_they_are_needed_here(tmp_path: Path, known: bool) -> None:
    """Figures are the operator's; a scraper has a token like everybody else."""
    file = tmp_path / "tokens.json"
    _, secret = TokenFile(file).create("prometheus")
    settings = GatewaySettings(metrics=True, tokens_file=file)
    async with create_gateway_application(Provider(), settings=settings) as gateway:
        status, _ = await metrics_of(gateway.http_url, secret if known else "ep_unknown")
    assert status == (200 if known else 401)
