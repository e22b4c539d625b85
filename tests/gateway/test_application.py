"""A gateway is started once, and closes its provider with it."""

import pytest

from gateway import create_gateway_application
from gateway.settings import GatewaySettings


async def test_a_second_start_is_refused_and_leaves_the_first_running() -> None:
    """A mistake of the host does not take the conversation down."""
    async with create_gateway_application(settings=GatewaySettings(port=0)) as gateway:
        port = gateway.port
        with pytest.raises(RuntimeError, match="started before"):
            await gateway.start()
        assert gateway.port == port
        assert (await gateway.runtime.health()).status == "unconfigured"
