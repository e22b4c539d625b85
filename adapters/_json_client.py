"""JSON over HTTP with the care a voice turn needs. Importing this module imports httpx2."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from knowledge_provider import (
    InvalidRetrievalResult,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalError,
    RetrievalTimedOut,
)

from ._failures import for_status
from ._json_text import json_bytes, parse_json
from ._pinned_transport import PinnedTransport


class JsonClient:
    """Sends JSON and reads JSON, within a byte limit.

    Without a ``client`` of the host's, one is built inside the loop that first asks: no redirects, no cookies (they
    would carry one owner's session into another's), no proxy or netrc from the environment unless ``trust_env``.
    """

    def __init__(
        self,
        provider: str,
        *,
        client: httpx2.AsyncClient | None = None,
        max_bytes: int = 4_000_000,
        retries: int = 1,
        allow_private: bool = True,
        trust_env: bool = False,
    ) -> None:
        if client is not None and not allow_private:
            raise ValueError("allow_private=False needs this adapter's own client; leave client out")
        if not allow_private and trust_env:
            raise ValueError("allow_private=False cannot hold behind a proxy of the environment; leave trust_env out")
        self._provider = provider
        self._given = client
        self._max_bytes = max_bytes
        self._attempts = 1 + max(0, min(1, retries))
        self._allow_private = allow_private
        self._trust_env = trust_env
        self._own: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], body: object = None) -> Any:
        """Return the parsed answer of a success; raises a `RetrievalError` for everything else."""
        content = None if body is None else json_bytes(body, self._provider)
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", **headers}
        if content is not None:
            sent["Content-Type"] = "application/json"
        for attempt in range(1, self._attempts + 1):
            try:
                return parse_json(await self._read(method, url, sent, content), self._provider)
            except (httpx2.ConnectError, httpx2.RemoteProtocolError, _Busy):
                if attempt == self._attempts:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _read(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> bytes:
        client = self._client()
        request = client.build_request(method, url, headers=headers, content=content)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.status_code != 200:
                raise _refusal(response, self._provider)
            return await self._body(response)
        finally:
            await response.aclose()

    async def _body(self, response: httpx2.Response) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise InvalidRetrievalResult(self._provider, "a compressed body that was not asked for")
        data = bytearray()
        chunks = response.aiter_raw()
        async with aclosing(chunks):  # a reading given up is ended here, not when memory is cleaned up
            async for chunk in chunks:
                data += chunk
                if len(data) > self._max_bytes:
                    raise InvalidRetrievalResult(self._provider, f"more than {self._max_bytes} bytes")
        return bytes(data)

    def _client(self) -> httpx2.AsyncClient:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._loop is not loop:  # connections belong to the loop that opened them
            self._own, self._loop = self._built(), loop
        return self._own

    def _built(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=None if self._allow_private else PinnedTransport(self._provider),
            trust_env=self._trust_env,
            timeout=None,  # the caller bounds the whole call; phases would only guess at it
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def aclose(self) -> None:
        """Close the connections of this client's own; a client of the host's stays open."""
        own, self._own = self._own, None
        if own is not None and self._loop is asyncio.get_running_loop():
            await own.aclose()


class _Busy(ProviderUnavailable):
    """HTTP 503 without a time to wait: worth one more try at once."""


def http_failure(error: Exception, provider: str) -> RetrievalError | None:
    """The table of httpx2's exceptions; None for what it does not raise itself."""
    if isinstance(error, httpx2.PoolTimeout):
        return ProviderUnavailable(provider, "has no free connection")
    if isinstance(error, httpx2.TimeoutException):
        return RetrievalTimedOut(provider)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.InvalidURL):
        return ProviderUnconfigured(provider, "has an address or a header that HTTP does not allow")
    if isinstance(error, httpx2.DecodingError | httpx2.TooManyRedirects | httpx2.SSEError):
        return InvalidRetrievalResult(provider, "a body that cannot be read")
    if isinstance(error, httpx2.TransportError):
        return ProviderUnavailable(provider, "cannot be reached")
    if isinstance(error, UnicodeEncodeError):
        return ProviderUnconfigured(provider, "has a header that is not plain ASCII")
    return None


def _refusal(response: httpx2.Response, provider: str) -> RetrievalError:
    if response.is_redirect:
        return InvalidRetrievalResult(provider, f"a redirect (HTTP {response.status_code}), which is not followed")
    wait = response.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isdecimal() and len(wait) < 6 else None
    if response.status_code == 503 and seconds is None:
        return _Busy(provider, "failed with HTTP 503")
    return for_status(response.status_code, provider, retry_after_seconds=seconds)


__all__ = ["JsonClient", "http_failure"]
