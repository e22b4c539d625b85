"""aiohttp's runner, for a server that repeats nothing of a request that it could not read.

aiohttp answers such a request with the piece that it could not read, and logs it with a traceback. That piece can be
a token.
"""

from aiohttp import web

_REFUSAL = "This is no HTTP request that can be read, or one of its headers is too long.\n"


class DiscreetRunner(web.AppRunner):
    """An ``AppRunner`` whose log and refusals hold nothing of an unreadable request."""

    __slots__ = ()

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _DiscreetServer(made.request_handler, request_factory=made.request_factory, **self._kwargs)


class _DiscreetServer(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _DiscreetHandler(self, loop=self._loop, **self._kwargs)


class _DiscreetHandler(web.RequestHandler):
    __slots__ = ()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Refuse with one sentence and one line in the log; a fault of our own is reported as aiohttp does it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self.logger.warning("Refused an unreadable request from %s: %s", request.remote, type(exc).__name__)
        refusal = web.Response(status=status, text=_REFUSAL)
        refusal.force_close()
        return refusal


__all__ = ["DiscreetRunner"]
