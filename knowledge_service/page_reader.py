"""Web pages as documents: the addresses a source lists, and no others.

Only public hosts are fetched unless ``allow_private`` is set: a declaration of a source must not become a way into the
host's own network. The address that was checked is the one that is connected to.
"""

import asyncio
import ipaddress
import socket
from typing import Any
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from .documents import KnowledgeDocument
from .errors import KnowledgeServiceError
from .file_reader import document_id, plain_text
from .readers import Page
from .sources import HttpContent, KnowledgeSource

MAX_PAGE_BYTES = 5_000_000
MAX_REDIRECTS = 3
USER_AGENT = "earpiece-knowledge"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class PageNotFetched(KnowledgeServiceError):
    """Raised when a page cannot be had; the source goes on without it and keeps what it has of it."""

    code = "knowledge_page_not_fetched"


class PageReader:
    """Fetches the pages of http sources. ``transport`` is an httpx2 transport, for hosts that have their own."""

    def __init__(self, *, allow_private: bool = False, timeout_seconds: float = 15.0, transport: Any = None) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise ImportError("PageReader needs the 'httpx2' package: pip install 'earpiece[http]'") from error
        self._httpx = httpx2
        self._client = httpx2.AsyncClient(timeout=timeout_seconds, trust_env=False, transport=transport)
        self._allow_private = allow_private

    async def page(self, source: KnowledgeSource, *, after: str | None, limit: int) -> Page:
        content = source.source
        assert isinstance(content, HttpContent)  # noqa: S101  (the service asks by kind)
        urls = sorted(map(str, content.urls))
        left = [url for url in urls if after is None or url > after]
        documents, unreadable = [], []
        for url in left[:limit]:
            try:
                documents.append(await self._document(source, url, content.user_agent or USER_AGENT))
            except PageNotFetched:
                unreadable.append(document_id(source, url))
        return Page(tuple(documents), left[limit - 1] if len(left) > limit else None, tuple(unreadable))

    async def close(self) -> None:
        await self._client.aclose()

    async def _document(self, source: KnowledgeSource, url: str, user_agent: str) -> KnowledgeDocument:
        body, kind = await self._fetch(url, user_agent)
        text = plain_text(body, kind)
        if text is None:
            raise PageNotFetched(f"Page {url!r} is of type {kind!r}, which is not text.")
        title = LexborHTMLParser(body).css_first("title") if "html" in kind else None
        return KnowledgeDocument(
            id=document_id(source, url),
            source_id=source.id,
            title=title.text(strip=True)[:300] if title is not None else url,
            content=text,
            uri=url,
            metadata={"mimeType": kind},
        )

    async def _fetch(self, url: str, user_agent: str) -> tuple[bytes, str]:
        for _ in range(MAX_REDIRECTS + 1):
            try:
                async with asyncio.timeout(60):
                    response = await self._client.send(await self._request(url, user_agent), stream=True)
                    try:
                        if not response.is_redirect:
                            return await self._body(url, response)
                        url = urljoin(url, response.headers.get("Location", ""))
                    finally:
                        await response.aclose()
            except (self._httpx.HTTPError, self._httpx.InvalidURL, TimeoutError) as error:
                raise PageNotFetched(f"Page {url!r} cannot be fetched.") from error
        raise PageNotFetched(f"Page {url!r} redirects more than {MAX_REDIRECTS} times.")

    async def _request(self, url: str, user_agent: str) -> Any:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise PageNotFetched(f"Page {url!r} is not an address of the web.")
        headers = {"User-Agent": user_agent, "Accept": "text/html, text/*;q=0.9"}
        if self._allow_private:
            return self._client.build_request("GET", url, headers=headers)
        address = await _public_address(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
        pinned = self._httpx.URL(url).copy_with(host=address)
        extensions = {"sni_hostname": parts.hostname}
        return self._client.build_request(
            "GET", pinned, headers={**headers, "Host": parts.netloc}, extensions=extensions
        )

    async def _body(self, url: str, response: Any) -> tuple[bytes, str]:
        if response.status_code != 200:
            raise PageNotFetched(f"Page {url!r} answered {response.status_code}.")
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_PAGE_BYTES:
                raise PageNotFetched(f"Page {url!r} is larger than {MAX_PAGE_BYTES} bytes.")
        return bytes(body), response.headers.get("Content-Type", "text/html").split(";")[0].strip().lower()


async def _public_address(host: str, port: int) -> str:
    """An address of ``host``, after all of its addresses were found to be public. Raises `PageNotFetched`."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise PageNotFetched(f"Host {host!r} has no address.") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(is_public(address) for address in addresses):
        raise PageNotFetched(f"Host {host!r} is not public. Set allow_private to fetch from your own network.")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address lies in the open internet, also when it hides a private one inside."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inside = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    if parsed.version == 6 and parsed in _NAT64:
        inside = ipaddress.ip_address(int(parsed) & 0xFFFFFFFF)
    return parsed.is_global and not parsed.is_multicast and (inside is None or is_public(str(inside)))


__all__ = ["PageNotFetched", "PageReader", "is_public"]
