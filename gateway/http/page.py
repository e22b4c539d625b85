"""The web page of the gateway: plain files, served as they lie in ``gateway/web``. They hold no data of anybody."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

from aiohttp import web

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Asked again each time, answered with 304: a new gateway never meets an old page.
    "Cache-Control": "no-cache",
}


def add_page(router: web.UrlDispatcher) -> None:
    """Add a route for every file of the page, and ``/`` for the page itself."""
    for path, file in _files(files("gateway") / "web", ""):
        answer = _Answer(file.read_bytes(), _TYPES[path[path.rindex(".") :]])
        router.add_get("/" if path == "index.html" else f"/{path}", answer.serve)


class _Answer:
    """One file, read once."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self._body = body
        self._content_type = content_type
        self._tag = hashlib.sha256(body).hexdigest()[:32]

    async def serve(self, request: web.Request) -> web.Response:
        tags = [tag.value for tag in request.if_none_match or ()]
        if self._tag in tags:
            response = web.Response(status=304, headers=_HEADERS)
        else:
            charset = None if self._content_type.startswith("image/png") else "utf-8"
            response = web.Response(body=self._body, content_type=self._content_type, charset=charset, headers=_HEADERS)
        response.etag = self._tag
        return response


def _files(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(tuple(_TYPES)):
            found.append((prefix + entry.name, entry))
    return found


__all__ = ["add_page"]
