"""The composition root: the one place that chooses a provider and puts the parts of a gateway together."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from knowledge_provider import KnowledgeRetrievalProvider

from .http.access import Access, is_loopback
from .http.library_endpoints import LibraryEndpoints
from .http.metrics_endpoint import MetricsEndpoint
from .http.realtime_endpoint import RealtimeEndpoint
from .http.server import GatewayServer
from .knowledge_runtime import FrontendKnowledgeRuntime
from .knowledge_tool import KnowledgeTool
from .owners import FailureLimit, Owners, TokenFile
from .realtime.embedded_model import EmbeddedModel
from .realtime.upstream import UpstreamAddress
from .settings import GatewaySettings, InvalidSetting


class GatewayApplication:
    """One gateway: a runtime, a tool, and the port that clients connect to.

    Use it as an async context manager, or call `start` and `aclose`. The provider is closed with it, once.
    """

    def __init__(
        self, provider: KnowledgeRetrievalProvider | None, settings: GatewaySettings, *, library: Any = None
    ) -> None:
        self.settings = settings
        owners = _owners(settings)
        access = Access(owners, FailureLimit(settings.failures_per_minute), settings.allowed_origins)
        metrics = MetricsEndpoint(access) if settings.metrics else None
        meter_provider = metrics.meter_provider if metrics else None
        self.runtime = FrontendKnowledgeRuntime(
            provider,
            timeout_seconds=settings.timeout_seconds,
            isolation=settings.isolation,
            record_query_text=settings.record_query_text,
            meter_provider=meter_provider,
        )
        self.tool = KnowledgeTool(
            self.runtime, max_calls_per_turn=settings.max_calls_per_turn, budget_characters=settings.budget_characters
        )
        self.host = settings.host
        self.port = settings.port
        self._realtime = RealtimeEndpoint(
            settings=settings, tool=self.tool, access=access, meter_provider=meter_provider
        )
        managed = self._management(library, access) if library is not None else None
        self._server = GatewayServer(
            access=access, realtime=self._realtime, runtime=self.runtime, library=managed, metrics=metrics
        )
        self._embedded: EmbeddedModel | None = None
        self._started = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The websocket address for clients, known after `start`."""
        return f"ws://{self._authority}/v1/realtime"

    @property
    def http_url(self) -> str:
        """The base address of the HTTP endpoints, known after `start`."""
        return f"http://{self._authority}"

    @property
    def _authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    async def start(self) -> None:
        """Listen, once. Raises OSError when the port is taken; whatever had begun by then is closed again.

        Raises RuntimeError when it was started before: a gateway that ran is not started again.
        """
        if self._started:
            raise RuntimeError("This gateway was started before; create another one.")
        self._started = True
        try:
            self._realtime.upstream = await self._upstream()
            self.port = await self._server.start(self.host, self.port)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Stop listening, end the sessions, close the provider. Calling it again waits for the same end."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _management(self, library: Any, access: Access) -> LibraryEndpoints:
        # An answer that was kept for a moment must not outlive its document.
        return LibraryEndpoints(library, library.store / "uploads", access=access, changed=self.runtime.forget)

    async def _close(self) -> None:
        try:
            await self._server.aclose()
            if self._embedded is not None:
                await self._embedded.aclose()
        finally:
            await self.runtime.aclose()

    async def _upstream(self) -> UpstreamAddress:
        settings = self.settings
        url = settings.upstream
        if url is None:
            self._embedded = EmbeddedModel()
            await self._embedded.start()
            url = self._embedded.url
        return UpstreamAddress(
            url,
            key=settings.upstream_key,
            model=settings.upstream_model,
            connect_seconds=settings.connect_seconds,
            ping_seconds=settings.ping_seconds,
            max_message_bytes=settings.max_message_bytes,
        )


def create_gateway_application(
    knowledge_provider: KnowledgeRetrievalProvider | None = None,
    *,
    knowledge_retrieval_provider: KnowledgeRetrievalProvider | None = None,
    library: Path | str | Any | None = None,
    store: Path | None = None,
    upstream: str | None = None,
    settings: GatewaySettings | None = None,
) -> GatewayApplication:
    """Put a gateway together; nothing listens before `GatewayApplication.start`.

    The provider is the first of: ``knowledge_provider``, ``knowledge_retrieval_provider``, and the local library, which
    is ``library`` (a folder of documents, or a ``DomainLibrary``) with its index in ``store``. With none of them no
    tool is offered and nothing is written. ``upstream`` is the address of a realtime model; without one the embedded
    model answers. Raises `ProviderContractError` for a wrong provider and `InvalidSetting` for wrong settings.
    """
    chosen = settings or GatewaySettings.from_environment(default_port=0)
    if upstream is not None:
        chosen = replace(chosen, upstream=upstream)
    provider = knowledge_provider or knowledge_retrieval_provider
    if provider is not None or not (library is not None or chosen.domain_library):
        return GatewayApplication(provider, chosen)
    from local_library import LocalDomainKnowledgeProvider

    opened = _opened_library(library, store, chosen.domain_library_embedder)
    local = LocalDomainKnowledgeProvider(opened, view="passages", closes_library=opened is not library)
    return GatewayApplication(local, chosen, library=opened)


def embedder_of_settings(name: str) -> Any:
    """The embedder of that name, None for ``off``. Raises `InvalidSetting` with what to install when it is missing."""
    from local_library import EmbedderNotUsable, embedder_named

    try:
        return embedder_named(name)
    except EmbedderNotUsable as error:
        raise InvalidSetting(f"EARPIECE_DOMAIN_LIBRARY_EMBEDDER is {name!r}. {error}") from error


def _opened_library(library: Path | str | Any | None, store: Path | None, embedder_name: str) -> Any:
    """The library, with the embedder of the settings; one that the host opened has the embedder that the host gave."""
    from local_library import DomainLibrary

    if library is not None and not isinstance(library, (str, Path)):
        return library
    embedder = embedder_of_settings(embedder_name)
    if library is None:
        return DomainLibrary(store or _default_store(), embedder=embedder)
    return DomainLibrary.for_folder(Path(library), store=store, embedder=embedder)


def _default_store() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("earpiece")) / "library"


def _owners(settings: GatewaySettings) -> Owners:
    file = TokenFile(settings.tokens_file) if settings.tokens_file else None
    owners = Owners(file=file, hashes=settings.token_hashes)
    nobody = owners.empty  # reads the token file, so that a broken one is told now and not to the first client
    if nobody and not is_loopback(settings.host):
        raise InvalidSetting(
            f"EARPIECE_HOST is {settings.host!r}, which other machines can reach, and there is no token. "
            "Make one with: earpiece token create OWNER, or listen on 127.0.0.1."
        )
    return owners


__all__ = ["GatewayApplication", "create_gateway_application", "embedder_of_settings"]
