"""The guard against requests to inner networks: resolve once, check every address, connect to the checked one."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpx2

from knowledge_provider import ProviderForbidden

from ._threads import BoundedThreads

_TRANSLATED_TO_IPV4 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"), ip_network("2002::/16"))
"""NAT64 and 6to4: Python calls them global, yet they may lead to any inner IPv4 address."""


def is_public_address(text: str) -> bool:
    """True for an address of the open internet, also behind IPv4-mapped notation; False for everything else."""
    address: IPv4Address | IPv6Address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif any(address in network for network in _TRANSLATED_TO_IPV4):
            return False
    return address.is_global and not address.is_multicast


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends a request only to a public address, and to exactly the address that was checked.

    A second look-up by the library below could answer differently (DNS rebinding), so the connection is made to the
    address itself; ``Host`` and the certificate's name stay those of the URL.
    """

    def __init__(self, provider: str, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._provider = provider
        self._inner = inner or httpx2.AsyncHTTPTransport(trust_env=False)
        self._threads = BoundedThreads(provider, workers=2)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to a checked address; raises `ProviderForbidden` when any address is not public."""
        host = request.url.host
        addresses = await self._threads.run(lambda: _resolved(host, request.url.port or 443))
        if not addresses or not all(is_public_address(address) for address in addresses):
            raise ProviderForbidden(self._provider, "is configured with an address that is not public")
        request.headers.setdefault("Host", request.url.netloc.decode("ascii"))
        extensions: dict[str, Any] = {**request.extensions, "sni_hostname": host}
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=addresses[0]),
            headers=request.headers,
            stream=request.stream,
            extensions=extensions,
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        self._threads.close()
        await self._inner.aclose()


def _resolved(host: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


__all__ = ["PinnedTransport", "is_public_address"]
