"""Who gets in: tokens, owners, origins, and a machine that others can reach."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.application import GatewayApplication, create_gateway_application
from gateway.owners import TokenFile, token_hash
from gateway.settings import GatewaySettings, InvalidSetting
from knowledge_provider import PERSONAL_OWNER, RetrievalContext, RetrievalRequest

ASK = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many reviewers?"}]}


class Owned:
    """Remembers on whose behalf it was asked."""

    def __init__(self) -> None:
        self.owners: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "owned", "label": "Owned"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
        self.owners.append(context.owner_id)
        return [{"id": "1", "content": "Releases require two reviewers."}]


@asynccontextmanager
async def gateway_with(provider: Owned | None = None, **values: Any) -> AsyncIterator[GatewayApplication]:
    settings = GatewaySettings(drain_seconds=0.1, **values)
    async with create_gateway_application(provider, settings=settings) as gateway:
        yield gateway


async def status(gateway: GatewayApplication, **headers: str) -> int:
    async with aiohttp.ClientSession() as http, http.get(f"{gateway.http_url}/v1/health", headers=headers) as answer:
        return answer.status


async def ask(gateway: GatewayApplication, **options: Any) -> str:
    """Ask one question over the websocket; returns the accepted subprotocol."""
    async with aiohttp.ClientSession() as http, http.ws_connect(gateway.url, **options) as socket:
        await socket.send_json({"type": "conversation.item.create", "item": ASK})
        await socket.send_json({"type": "response.create"})
        async with asyncio.timeout(5):
            while (await socket.receive_json())["type"] != "response.done":
                pass
        return socket.protocol or ""


async def test_a_token_makes_its_owner_the_asker() -> None:
    """The owner reaches the provider from the token alone, whatever else the client sends."""
    provider = Owned()
    async with gateway_with(provider, token_hashes=f"ana:{token_hash('ep_a')}") as gateway:
        headers = {"Authorization": "Bearer ep_a", "X-Owner": "bo", "OpenAI-Organization": "bo"}
        await ask(gateway, headers=headers)
    assert provider.owners == ["ana"]


async def test_a_browser_authenticates_by_subprotocol() -> None:
    """Browsers cannot set headers; the token comes as a subprotocol and is not echoed."""
    provider = Owned()
    async with gateway_with(provider, token_hashes=f"ana:{token_hash('ep_a')}") as gateway:
        accepted = await ask(gateway, protocols=("realtime", "openai-insecure-api-key.ep_a"))
    assert provider.owners == ["ana"]
    assert accepted == "realtime"


async def test_without_tokens_this_machine_is_the_personal_owner() -> None:
    """An SDK that insists on some key is let in; the key means nothing."""
    provider = Owned()
    async with gateway_with(provider) as gateway:
        await ask(gateway, headers={"Authorization": "Bearer sk-whatever"})
    assert provider.owners == [PERSONAL_OWNER]


async def test_a_wrong_or_missing_token_is_refused_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The same answer for every reason, and the token is in no log."""
    caplog.set_level(logging.DEBUG)
    async with gateway_with(token_hashes=f"ana:{token_hash('ep_a')}") as gateway:
        assert await status(gateway) == 401
        assert await status(gateway, Authorization="Bearer ep_wrong") == 401
        assert await status(gateway, Authorization="Basic ep_a") == 401
        assert await status(gateway, Authorization="Bearer ep_a") == 200
    assert "ep_wrong" not in caplog.text
    assert "ep_a" not in caplog.text


async def test_failures_are_limited_and_a_right_token_still_gets_in() -> None:
    """Guessing is slowed down; whoever shares a proxy with the guesser is not locked out."""
    async with gateway_with(token_hashes=f"ana:{token_hash('ep_a')}", failures_per_minute=2) as gateway:
        assert [await status(gateway, Authorization="Bearer no") for _ in range(3)] == [401, 401, 429]
        assert await status(gateway, Authorization="Bearer ep_a") == 200


async def test_a_revoked_token_is_refused_at_once(tmp_path: Path) -> None:
    """No restart is needed."""
    file = TokenFile(tmp_path / "tokens.json")
    kept, secret = file.create("ana")
    async with gateway_with(tokens_file=tmp_path / "tokens.json") as gateway:
        assert await status(gateway, Authorization=f"Bearer {secret}") == 200
        file.revoke(kept.id)
        assert await status(gateway, Authorization=f"Bearer {secret}") == 401


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        ("https://app.example", 200),
        ("https://app.example.evil.example", 403),
        ("{own}", 200),
    ],
)
async def test_only_known_origins_get_in(origin: str, expected: int) -> None:
    """A page of somebody else's cannot use a gateway that runs on the visitor's machine."""
    async with gateway_with(allowed_origins=("https://app.example",)) as gateway:
        assert await status(gateway, Origin=origin.format(own=gateway.http_url)) == expected


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "203.0.113.9"}, {"Host": "evil.example"}])
async def test_what_only_looks_local_is_not_the_personal_owner(headers: dict[str, str]) -> None:
    """A proxy on this machine and a name that was pointed at it both make strangers look local."""
    async with gateway_with() as gateway:
        assert await status(gateway, **headers) == 401


def test_a_reachable_address_without_tokens_is_refused_at_start(tmp_path: Path) -> None:
    """Nobody opens a gateway to the network by accident."""
    for host in ("0.0.0.0", "::", "192.168.1.5", "gateway.example"):
        with pytest.raises(InvalidSetting, match="earpiece token create"):
            create_gateway_application(settings=GatewaySettings(host=host))
    with pytest.raises(InvalidSetting):
        create_gateway_application(settings=GatewaySettings(host="0.0.0.0", tokens_file=tmp_path / "none.json"))
    create_gateway_application(settings=GatewaySettings(host="0.0.0.0", token_hashes=f"ana:{token_hash('ep_a')}"))


async def test_sessions_are_counted_per_owner() -> None:
    """One owner cannot take every place; a place is free again when its session ends."""
    hashes = f"ana:{token_hash('ep_a')},bo:{token_hash('ep_b')}"
    async with gateway_with(token_hashes=hashes, max_sessions_per_owner=1) as gateway, aiohttp.ClientSession() as http:
        ana, bo = ({"Authorization": f"Bearer {token}"} for token in ("ep_a", "ep_b"))
        first = await http.ws_connect(gateway.url, headers=ana)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(gateway.url, headers=ana)
        assert refused.value.status == 429
        other = await http.ws_connect(gateway.url, headers=bo)
        await first.receive()
        await first.close()
        async with asyncio.timeout(30):
            while (again := await connected(http, gateway.url, ana)) is None:
                pass
        await again.close()
        await other.close()


async def connected(
    http: aiohttp.ClientSession, url: str, headers: dict[str, str]
) -> aiohttp.ClientWebSocketResponse | None:
    """Try to connect; None when there is no place."""
    try:
        return await http.ws_connect(url, headers=headers)
    except aiohttp.WSServerHandshakeError:
        return None
