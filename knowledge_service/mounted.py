"""The service as a provider that a gateway mounts by name: ``earpiece serve --provider knowledge-service``.

It opens with the first question or the first look at its health, keeps its indexes in step while it is open, and closes
with the gateway.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from knowledge_provider import (
    ProviderContractError,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalRequest,
)

from . import provider_face
from .configuration import ServiceSettings, load_settings, open_service
from .errors import KnowledgeServiceError
from .service import KnowledgeService
from .sources import sources_from
from .sync import SyncWorker

KEY, LABEL = "knowledge-service", "Knowledge service"


class MountedService:
    """Opens the service of a file when it is first needed, once, and runs its sync in the background."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._settings: ServiceSettings = load_settings(file)
        self._sources = sources_from(self._settings.sources)
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._opened: KnowledgeService | None = None

    def describe(self) -> ProviderDescription:
        return provider_face.description(KEY, LABEL, self._sources)

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Mapping[str, Any]:
        return await (await self._service()).retrieve(request, context)

    async def health(self) -> ProviderHealth:
        try:
            return await (await self._service()).health()
        except ProviderUnavailable:
            return ProviderHealth(status="unavailable", message="the service cannot be opened")

    async def close(self) -> None:
        await self._stack.aclose()

    async def _service(self) -> KnowledgeService:
        async with self._lock:
            if self._opened is None:
                try:
                    self._opened = await self._open()
                except (KnowledgeServiceError, OSError) as error:
                    raise ProviderUnavailable(KEY, "cannot be opened") from error
            return self._opened

    async def _open(self) -> KnowledgeService:
        opened = await self._stack.enter_async_context(open_service(self._file))
        for source in opened.service.list_sources():
            if getattr(opened.service.adapter(source.adapter), "volatile", False):
                await opened.service.reindex_source(source.id)
        stop = asyncio.Event()
        worker = asyncio.create_task(SyncWorker(opened.service, opened.outbox).run(stop))

        async def end() -> None:
            stop.set()
            await worker

        self._stack.push_async_callback(end)
        return opened.service


def from_config(config: Mapping[str, Any]) -> MountedService:
    """``{"file": "knowledge.yaml"}``. Raises `ProviderContractError`, and `InvalidSource` for what is in the file."""
    if set(config) != {"file"} or not isinstance(config.get("file"), str):
        raise ProviderContractError(KEY, "has a wrong config", 'It takes {"file": "path/to/knowledge.yaml"}')
    try:
        return MountedService(Path(config["file"]))
    except OSError as error:
        raise ProviderContractError(KEY, f"cannot read {config['file']!r}", "Name an existing file") from error


__all__ = ["MountedService", "from_config"]
