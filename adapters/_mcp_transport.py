"""How an MCP client reaches its server, with a limit on what the server may send. Importing this imports mcp."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


def client_maker(server: Any, headers: Mapping[str, str], max_bytes: int) -> Callable[[], Client]:
    """Return a function that makes a fresh client: one cannot be entered twice, and neither can a transport."""
    if isinstance(server, str):
        return lambda: Client(http_transport(server, headers, max_bytes), cache=None)
    if isinstance(server, StdioServerParameters):
        return lambda: Client(_stdio_transport(server), cache=None)
    if hasattr(server, "__aenter__"):
        raise TypeError("a transport serves one connection; give a function that makes one, so that it can be renewed")
    if hasattr(server, "call_tool") or hasattr(server, "_lowlevel_server") or hasattr(server, "request_context"):
        return lambda: Client(server, cache=None)
    if callable(server):
        return lambda: Client(server(), cache=None)
    raise TypeError(
        f"McpProvider needs a URL, StdioServerParameters, a server or a function, not {type(server).__name__}"
    )


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], max_bytes: int) -> AsyncIterator[Any]:
    """Streamable HTTP without redirects, cookies or proxies of the environment, and with a limit on each answer."""
    limited = _LimitedTransport(httpx2.AsyncHTTPTransport(trust_env=False), max_bytes)
    http = httpx2.AsyncClient(
        transport=limited,
        headers=headers,
        timeout=httpx2.Timeout(30.0, read=300.0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,
    )
    async with (
        http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@asynccontextmanager
async def _stdio_transport(server: StdioServerParameters) -> AsyncIterator[Any]:
    """Standard input and output of a child; what it writes to standard error is its own business and is dropped."""
    with Path(os.devnull).open("w") as sink:  # noqa: ASYNC230 - the null device does not block
        async with stdio_client(server, errlog=sink) as streams:
            yield streams


class AnswerTooLong(Exception):
    """Raised while a server's answer is read, once it is longer than the host allows."""


class _LimitedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"  # so that the bytes counted are the bytes kept
        response = await self._inner.handle_async_request(request)
        if request.method == "POST" and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _LimitedStream(response.stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._inner = inner
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise AnswerTooLong
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


__all__ = ["AnswerTooLong", "client_maker", "http_transport"]
