"""An HTTP service on loopback whose answers a test sets."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

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

    def hangs(self) -> asyncio.Semaphore:
        """Answer nobody; the semaphore counts who asks."""
        asked = asyncio.Semaphore(0)

        async def hang(_: web.Request, __: Any) -> web.StreamResponse:
            asked.release()
            await asyncio.Event().wait()
            raise AssertionError

        self.answer = hang
        return asked

    def replies(self, payload: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answer every request with this JSON, or with this text as it is."""

        async def answer(_: web.Request, __: Any) -> web.StreamResponse:
            if isinstance(payload, str | bytes):
                body = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
                return web.Response(body=body, status=status, headers=headers)
            return web.json_response(payload, status=status, headers=headers)

        self.answer = answer
