"""What becomes of the HTTP connections of a provider, and of providers after a test."""

import asyncio
from typing import Any, Protocol, TypeVar

from tests.adapters.asking import context_for, request_for
from tests.adapters.loopback import Loopback


class Closing(Protocol):
    async def close(self) -> None: ...


Made = TypeVar("Made", bound=Closing)
MADE: list[Closing] = []


def closed_later(made: Made) -> Made:
    """The same provider; the fixture ``closed_afterwards`` closes it, as a gateway would."""
    MADE.append(made)
    return made


async def a_hundred_barge_ins(provider: Any, service: Loopback, *, requests_each: int = 1) -> None:
    """Ten times, cancel ten calls once the service has all their requests and holds them."""
    asked = service.hangs()
    for _ in range(10):
        calls = [asyncio.create_task(provider.retrieve(request_for(), context_for())) for _ in range(10)]
        for _ in range(len(calls) * requests_each):
            await asked.acquire()
        for call in calls:
            call.cancel()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)


def busy_connections(client: Any) -> list[Any]:
    """Those of a client's pool that were not given back."""
    return [connection for connection in client._transport._pool.connections if not connection.is_idle()]
