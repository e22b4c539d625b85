"""The HTTP server of one gateway."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from ..knowledge_runtime import FrontendKnowledgeRuntime
from .access import Access
from .discreet_runner import DiscreetRunner
from .library_endpoints import LibraryEndpoints
from .metrics_endpoint import MetricsEndpoint
from .page import add_page
from .realtime_endpoint import RealtimeEndpoint

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class GatewayServer:
    """Listens between ``start`` and ``aclose``. Raises OSError from ``start`` when the port is taken."""

    def __init__(
        self,
        *,
        access: Access,
        realtime: RealtimeEndpoint,
        runtime: FrontendKnowledgeRuntime,
        library: LibraryEndpoints | None = None,
        metrics: MetricsEndpoint | None = None,
    ) -> None:
        self._access = access
        self._metrics = metrics
        self._library = library
        self._realtime = realtime
        self._runtime = runtime
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (a free one where 0 was asked for)."""
        application = web.Application()
        application.router.add_get("/v1/realtime", self._realtime.serve)
        application.router.add_get("/v1/health", self._health)
        if self._library is not None:
            self._library.add_to(application.router)
        if self._metrics is not None:
            self._metrics.add_to(application.router)
        add_page(application.router)
        self._runner = DiscreetRunner(application, access_log=None, shutdown_timeout=1.0, handle_signals=False)
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, host, port)
        await self._site.start()
        return int(self._runner.addresses[0][1])

    async def aclose(self) -> None:
        """Stop listening first, so that whoever connects again meets somebody else; then end what runs."""
        if self._site is not None:
            await self._site.stop()
        await self._realtime.aclose()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = self._site = None
        if self._metrics is not None:
            self._metrics.close()

    async def _health(self, request: web.Request) -> web.Response:
        self._access.owner(request)
        health = await self._runtime.health()
        description = self._runtime.describe()
        provider = None if description is None else {"key": description.key, "label": description.label}
        body = {"knowledge": health.model_dump(by_alias=True), "provider": provider}
        return web.json_response(body, status=200 if health.ok or health.status == "unconfigured" else 503)


__all__ = ["GatewayServer"]
