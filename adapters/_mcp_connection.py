"""One MCP session, owned by one task, used by many callers. Importing this module imports mcp.

The SDK cancels the task that entered a client when the connection fails, and a client must be left by the task that
entered it. So a task of its own enters, waits and leaves; callers come and go, and no failure of the connection ever
cancels one of them.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, MCPError

from knowledge_provider import ProviderUnavailable, RetrievalTimedOut

CONNECTION_CLOSED = -32000
Check = Callable[[Client], Awaitable[None]]


class Connection:
    """Connects when first asked, once more when the connection was lost, and never after ``close``."""

    def __init__(self, provider: str, make_client: Callable[[], Client], check: Check, connect_seconds: float) -> None:
        self._provider = provider
        self._make_client = make_client
        self._check = check
        self._connect_seconds = connect_seconds
        self._owner: asyncio.Task[None] | None = None
        self._owners: set[asyncio.Task[None]] = set()
        self._ready: asyncio.Future[Client] | None = None
        self._stop = asyncio.Event()
        self._closed = False
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> Any:
        """Call a tool; a lost connection is opened again once, since searches change nothing."""
        for last in (False, True):
            client, owner = await self.client()
            call = asyncio.create_task(client.call_tool(tool, arguments, read_timeout_seconds=seconds))
            self._calls.add(call)
            call.add_done_callback(self._forget)
            try:
                await asyncio.wait({call, owner}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                call.cancel()  # does nothing to one that is done; tells the server of one that is not
            if call.done() and not _is_lost(call):
                return call.result()
            self._drop(owner)
            if last:
                raise ProviderUnavailable(self._provider, "lost its connection")
        raise AssertionError("the last attempt returns or raises")

    async def client(self) -> tuple[Client, asyncio.Task[None]]:
        """Return the connected client and the task that owns it; raises what kept it from connecting."""
        owner, ready = self._connecting()
        await asyncio.wait({ready}, timeout=self._connect_seconds)
        if not ready.done():
            self._drop(owner)
            raise RetrievalTimedOut(self._provider, timeout_seconds=self._connect_seconds)
        return ready.result(), owner

    def _connecting(self) -> tuple[asyncio.Task[None], "asyncio.Future[Client]"]:
        if self._closed:
            raise ProviderUnavailable(self._provider, "is closed")
        loop = asyncio.get_running_loop()
        if self._owner is None or self._ready is None or self._owner.done() or self._owner.get_loop() is not loop:
            self._stop, self._ready = asyncio.Event(), loop.create_future()
            own = self._own(self._ready, self._stop)
            self._owner = loop.create_task(own, name=f"earpiece-{self._provider}", context=contextvars.Context())
            self._owners.add(self._owner)
            self._owner.add_done_callback(self._owners.discard)
        return self._owner, self._ready

    async def _own(self, ready: "asyncio.Future[Client]", stop: asyncio.Event) -> None:
        try:
            async with self._make_client() as client:
                await self._check(client)
                ready.set_result(client)
                await stop.wait()
        except BaseException as error:  # the transport's groups and cancellations end here, and nowhere else
            if not ready.done():
                ready.set_exception(_reason(error, self._provider))
                ready.exception()  # whoever waits reads it again; if nobody does, asyncio need not complain

    def _drop(self, owner: asyncio.Task[None]) -> None:
        if self._owner is owner:
            self._stop.set()
            self._owner = None
        if self._ready is not None and not self._ready.done():
            owner.cancel()

    def _forget(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()

    async def close(self, seconds: float = 5.0) -> None:
        """Leave the session; from any task, and within a bound. Calls under way end as unavailable."""
        self._closed = True
        self._owner = None
        self._stop.set()
        loop = asyncio.get_running_loop()
        owners = {owner for owner in self._owners if owner.get_loop() is loop}
        if owners:
            _, late = await asyncio.wait(owners, timeout=seconds)
            for owner in late:
                owner.cancel()


def _is_lost(call: "asyncio.Task[Any]") -> bool:
    if call.cancelled():
        return True
    error = call.exception()
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def _reason(error: BaseException, provider: str) -> Exception:
    if isinstance(error, Exception):
        return error
    return ProviderUnavailable(provider, "lost its connection")


__all__ = ["CONNECTION_CLOSED", "Connection"]
