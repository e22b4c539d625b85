"""What the tests of the adapters share: requests, contexts, a loopback service, and a watch on the event loop."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from knowledge_provider import RetrievalContext, RetrievalRequest

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

Handler = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


@dataclass
class Loopback:
    """An HTTP service on 127.0.0.1 whose answer a test sets; it keeps what it was asked."""

    url: str = ""
    answer: Handler | None = None
    bodies: list[Any] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.requests.append(request)
        self.bodies.append(body)
        assert self.answer is not None
        return await self.answer(request, body)

    def replies(self, payload: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answer every request with this JSON, or with this text as it is."""

        async def answer(_: web.Request, __: Any) -> web.StreamResponse:
            if isinstance(payload, str | bytes):
                body = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
                return web.Response(body=body, status=status, headers=headers)
            return web.json_response(payload, status=status, headers=headers)

        self.answer = answer


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Loopback]:
    """A service on loopback; cancelled requests cancel its handlers, as a real server would notice."""
    loopback = Loopback()
    app = web.Application(client_max_size=8_000_000)
    app.router.add_route("*", "/{path:.*}", loopback.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    loopback.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield loopback
    await runner.cleanup()


@pytest.fixture
def request_for() -> Callable[..., RetrievalRequest]:
    """Make a request: ``request_for("query", top_k=3, filters={...})``."""
    return lambda query="release policy", **fields: RetrievalRequest(query=query, **fields)


@pytest.fixture
def context_for() -> Callable[..., RetrievalContext]:
    """Make a trusted context: ``context_for("ann", seconds=5)``."""

    def make(owner_id: str = "ann", seconds: float = 30.0) -> RetrievalContext:
        deadline = time.monotonic() + seconds
        return RetrievalContext(
            owner_id=owner_id, session_id="s-1", turn_id="t-1", trace_id="trace-1", deadline=deadline
        )

    return make


@dataclass
class LoopWatch:
    """The longest time in which the event loop ran nothing else, in seconds."""

    longest: float = 0.0


@pytest.fixture
def watched_loop() -> Callable[[], Any]:
    """Watch the loop during a block; the gap still open at its end counts, or a frozen loop would go unseen."""

    @asynccontextmanager
    async def watch() -> AsyncIterator[LoopWatch]:
        found = LoopWatch()
        last = time.perf_counter()

        async def tick() -> None:
            nonlocal last
            while True:
                now = time.perf_counter()
                found.longest, last = max(found.longest, now - last), now
                await asyncio.sleep(0.002)

        ticker = asyncio.create_task(tick())
        await asyncio.sleep(0)
        try:
            yield found
        finally:
            found.longest = max(found.longest, time.perf_counter() - last)
            ticker.cancel()

    return watch


@pytest.fixture
def everything_about() -> Callable[[BaseException], str]:
    """All that a log line or a model could show of an error of ours: its text, repr and attributes."""
    return lambda error: f"{error} {error!r} {vars(error)}"


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait until something that threads change is true; twenty seconds are the bound, not a measure."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110 - threads of a vendor set no asyncio event
                await asyncio.sleep(0.001)

    return wait
