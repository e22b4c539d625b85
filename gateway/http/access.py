"""Who may come in, and as whom. Nothing a client sends can name an owner; only its token stands for one."""

import ipaddress
from typing import NoReturn
from urllib.parse import urlsplit

from aiohttp import web

from knowledge_provider import PERSONAL_OWNER

from ..owners import FailureLimit, Owners

_SUBPROTOCOL_PREFIXES = ("openai-insecure-api-key.", "earpiece-token.")
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")


class Access:
    """Answers with the owner of a request, or refuses it without saying why in any useful way."""

    def __init__(self, owners: Owners, failures: FailureLimit, allowed_origins: tuple[str, ...]) -> None:
        self._owners = owners
        self._failures = failures
        self._allowed_origins = allowed_origins

    def owner(self, request: web.Request) -> str:
        """Return the owner. Raises an HTTP error: 403 for a foreign origin, 401 or 429 for a failed token."""
        self._check_origin(request)
        if not self._owners.configured:
            return self._personal(request)
        owner = self._owners.owner_of(_token(request))
        return owner if owner is not None else self._fail(request.remote or "")

    def _fail(self, address: str) -> NoReturn:
        """Refuse. A right token is let in whatever others fail at: behind a proxy, all share one address."""
        if self._failures.exceeded(address):
            raise web.HTTPTooManyRequests(text="Too many attempts. Wait a minute.", headers={"Retry-After": "60"})
        self._failures.failed(address)
        raise web.HTTPUnauthorized(text="Unauthorized.", headers={"WWW-Authenticate": "Bearer"})

    def _personal(self, request: web.Request) -> str:
        """Without tokens there is one owner, for programs of this machine alone.

        A proxy on this machine makes everybody look local, and a page of a foreign name may point at this address.
        """
        forwarded = any(name in request.headers for name in _FORWARDED)
        if forwarded or not is_loopback(request.remote or "") or not is_loopback(_host_name(request.host)):
            raise web.HTTPUnauthorized(text="Unauthorized.", headers={"WWW-Authenticate": "Bearer"})
        return PERSONAL_OWNER

    def _check_origin(self, request: web.Request) -> None:
        origin = request.headers.get("Origin")
        if origin is None or origin.rstrip("/") in self._allowed_origins:
            return
        if urlsplit(origin).netloc.lower() != request.host.lower():
            raise web.HTTPForbidden(text="Forbidden.")


def is_loopback(host: str) -> bool:
    """Say whether a host name or address means this machine, without any lookup."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def subprotocol(request: web.Request) -> str | None:
    """Return the subprotocol to answer a browser with; never the one that carries the token."""
    return "realtime" if "realtime" in _subprotocols(request) else None


def _subprotocols(request: web.Request) -> list[str]:
    return [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]


def _token(request: web.Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip()
    for protocol in _subprotocols(request):
        for prefix in _SUBPROTOCOL_PREFIXES:
            if protocol.startswith(prefix):
                return protocol.removeprefix(prefix)
    return request.headers.get("api-key", "")


def _host_name(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""


__all__ = ["Access", "is_loopback", "subprotocol"]
