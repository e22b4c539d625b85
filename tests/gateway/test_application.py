"""A gateway is started once, and closes its provider with it."""

import asyncio
import socket
from typing import Any

import pytest

from gateway import create_gateway_application
from gateway.settings import GatewaySettings


class Closable:
    """Counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "closable", "label": "Closable"}

    async def retrieve(self, request: Any, context: Any) -> list[dict[str, Any]]:
        return []

    async def close(self) -> None:
        self.closed += 1


async def test_a_second_start_is_refused_and_leaves_the_first_running() -> None:
    """A mistake of the host does not take the conversation down."""
    async with create_gateway_application(settings=GatewaySettings(port=0)) as gateway:
        port = gateway.port
        with pytest.raises(RuntimeError, match="started before"):
            await gateway.start()
        assert gateway.port == port
        assert (await gateway.runtime.health()).status == "unconfigured"


async def test_a_failed_start_closes_the_provider_once() -> None:
    """Whoever handed it over cannot tell how far the start came, and closing the gateway again does no harm."""
    provider = Closable()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = GatewaySettings(port=taken.getsockname()[1])
        gateway = create_gateway_application(provider, settings=settings)
        async with asyncio.timeout(5):
            with pytest.raises(OSError):
                await gateway.start()
            assert provider.closed == 1
            await gateway.aclose()
    assert provider.closed == 1
