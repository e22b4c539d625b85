"""``/metrics``: what OpenTelemetry measures in this gateway, in the form that Prometheus reads.

Labels are the provider, the outcome and the like, never an owner, a session or anybody's words.
"""

from aiohttp import web
from opentelemetry.metrics import MeterProvider

from ..settings import InvalidSetting
from .access import Access


class MetricsEndpoint:
    """Collects for one gateway alone. Raises `InvalidSetting` when its packages are not installed."""

    def __init__(self, access: Access) -> None:
        try:
            from opentelemetry.exporter.prometheus import PrometheusMetricReader
            from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
            from prometheus_client import CollectorRegistry
        except ImportError as error:
            raise InvalidSetting("EARPIECE_METRICS needs more packages: pip install 'earpiece[metrics]'") from error
        self._access = access
        self._registry = CollectorRegistry()
        self._provider = SdkMeterProvider([PrometheusMetricReader(registry=self._registry)], shutdown_on_exit=False)

    @property
    def meter_provider(self) -> MeterProvider:
        """Where the instruments of this gateway belong."""
        return self._provider

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Serve ``/metrics`` to whoever may use the gateway."""
        router.add_get("/metrics", self._serve)

    def close(self) -> None:
        """Collect no more."""
        self._provider.shutdown()

    async def _serve(self, request: web.Request) -> web.Response:
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        self._access.owner(request)
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


__all__ = ["MetricsEndpoint"]
