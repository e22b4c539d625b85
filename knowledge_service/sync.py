"""Changes of records on their way into the indexes: batched, retried, never in the way of the write that made them."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from knowledge_provider import KnowledgeError

from .adapter import AdapterContext
from .caller import SYSTEM
from .changes import EVERY_RECORD, RecordChange, change_from
from .documents import KnowledgeDocument
from .errors import DocumentRefused, IndexFailed, RecordBehind, place_of
from .events import Synced, SyncFailed
from .indexing import IndexWriter
from .service import KnowledgeService
from .sources import KnowledgeSource
from .sql.outbox import Claim, Outbox

logger = logging.getLogger(__name__)

REINDEX_STEP = 5000


class Stop(Protocol):
    async def wait(self) -> Any: ...
    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings:
    """``attempts`` bounds the tries of a record; the delay doubles from ``first_delay_seconds`` to
    ``max_delay_seconds``.

    An index has a third of ``lease_seconds`` for one call, so that a lease never ends under a call that still runs.
    """

    batch: int = 100
    lease_seconds: float = 60.0
    attempts: int = 8
    first_delay_seconds: float = 0.5
    max_delay_seconds: float = 300.0
    poll_seconds: float = 0.5

    def delay(self, attempts: int) -> float:
        return float(min(self.max_delay_seconds, self.first_delay_seconds * 2 ** min(attempts, 30)))


class SyncWorker:
    """Delivers what waits in an outbox. Any number of workers, in any number of processes, may run on one outbox.

    The batch halves when an index fails and doubles when it answers, so that a struggling index is asked for less.
    """

    def __init__(self, service: KnowledgeService, outbox: Outbox, settings: SyncSettings | None = None) -> None:
        self._service = service
        self._outbox = outbox
        self._settings = settings or SyncSettings()
        self._writer = IndexWriter(service.ledger)
        self._batch = self._settings.batch
        self._news = asyncio.Event()

    async def accept(self, event: dict[str, Any]) -> bool:
        """Take an event of the host's bus; false when it is about something else. Raises `UnreadableEvent`."""
        change = change_from(event)
        if change is None or not self._service.sources_on(change.object):
            return False
        await self._outbox.put([change])
        self.notify()
        return True

    def notify(self) -> None:
        """Look at the outbox now, not at the next poll."""
        self._news.set()

    async def run(self, stop: Stop) -> None:
        """Deliver until ``stop`` is set, also while the database of the outbox is away."""
        stopping = asyncio.ensure_future(stop.wait())
        while not stop.is_set():
            self._news.clear()
            if not await self._step_or_rest():
                news = asyncio.ensure_future(self._news.wait())
                await asyncio.wait(
                    {stopping, news}, timeout=self._settings.poll_seconds, return_when=asyncio.FIRST_COMPLETED
                )
                news.cancel()
        stopping.cancel()

    async def drain(self) -> int:
        """Deliver until nothing is due; returns how many records were taken up."""
        total = 0
        while done := await self.step():
            total += done
        return total

    async def step(self) -> int:
        """Take up one batch; returns how many records it held."""
        claims = await self._outbox.claim(self._batch, lease_seconds=self._settings.lease_seconds)
        try:
            for name in dict.fromkeys(claim.object for claim in claims):
                await self._deliver(name, [claim for claim in claims if claim.object == name])
        except asyncio.CancelledError:
            await asyncio.shield(self._outbox.release(claims))
            raise
        return len(claims)

    async def _step_or_rest(self) -> int:
        try:
            return await self.step()
        except Exception:
            logger.exception("The outbox cannot be read; trying again in %s s", self._settings.poll_seconds)
            return 0

    async def _deliver(self, object_name: str, claims: Sequence[Claim]) -> None:
        try:
            for source in self._service.sources_on(object_name):
                await self._bring(source, claims)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            await self._failed(object_name, claims, error)
        else:
            await self._outbox.settle(claims)
            self._batch = min(self._settings.batch, self._batch * 2)
            self._tell(object_name, claims)

    async def _bring(self, source: KnowledgeSource, claims: Sequence[Claim]) -> None:
        """Make the index say what the records say now, whatever the changes were."""
        context = AdapterContext(source=source, reason="sync", trace_id=claims[0].trace_id)
        adapter = self._service.adapter(source.adapter)
        ids = [source.document_id(claim.record_id) for claim in claims if claim.record_id != EVERY_RECORD]
        # Waiting for one's turn, and comparing a whole source, may take long and are no failure of the index.
        async with self._service.lock(source.id), asyncio.timeout(self._settings.lease_seconds / 3):
            found = await self._service.current.readable(source, ids, SYSTEM)
            _refuse_older(source, claims, found)
            await self._writer.write(adapter, list(found.values()), context)
            await self._writer.remove(adapter, [one for one in ids if one not in found], context)
        if len(ids) < len(claims):
            await self._compare_whole(source)

    async def _compare_whole(self, source: KnowledgeSource) -> None:
        progress = await self._service.reindex_source(source.id, limit=REINDEX_STEP)
        if not progress.complete:
            content = source.object_content()
            assert content is not None  # noqa: S101  (sync only ever sees object sources)
            await self._outbox.put([RecordChange(object=content.object, record_id=EVERY_RECORD)])

    async def _failed(self, object_name: str, claims: Sequence[Claim], error: Exception) -> None:
        late = "knowledge_timeout" if isinstance(error, TimeoutError) else "knowledge_internal"
        code = error.code if isinstance(error, KnowledgeError) else late
        away = isinstance(error, TimeoutError) or (isinstance(error, KnowledgeError) and error.retryable)
        away = away and not isinstance(error, RecordBehind)
        logger.warning("Sync of %d records of %r failed: %s, %s", len(claims), object_name, code, place_of(error))
        self._batch = max(1, self._batch // 2)
        if len(claims) > 1 and not away:
            # One record may spoil the batch: each half is tried by itself until it stands alone.
            half = len(claims) // 2
            await self._deliver(object_name, claims[:half])
            await self._deliver(object_name, claims[half:])
            return
        hopeless = [one for one in claims if isinstance(error, DocumentRefused) or self._is_last(one)]
        again = [one for one in claims if one not in hopeless]
        await self._outbox.bury(hopeless, code=code)
        await self._outbox.retry(again, code=code, delay_seconds=self._delay(claims, error))
        self._service.emit(SyncFailed(object=object_name, code=code, records=len(claims), dead=len(hopeless)))

    def _is_last(self, claim: Claim) -> bool:
        return claim.attempts + 1 >= self._settings.attempts

    def _delay(self, claims: Sequence[Claim], error: Exception) -> float:
        wished = error.retry_after_seconds if isinstance(error, IndexFailed) else None
        return max(self._settings.delay(max(claim.attempts for claim in claims)), wished or 0.0)

    def _tell(self, object_name: str, claims: Sequence[Claim]) -> None:
        lag = max(0.0, time.time() - min(claim.created_at for claim in claims))
        self._service.emit(
            Synced(
                object=object_name,
                records=len(claims),
                lag_seconds=lag,
                trace_id=claims[0].trace_id,
            )
        )


def _refuse_older(source: KnowledgeSource, claims: Sequence[Claim], found: Mapping[str, KnowledgeDocument]) -> None:
    """A replica may answer with the row of yesterday; the news says how new it must be."""
    for claim in claims:
        document = found.get(source.document_id(claim.record_id))
        held = document.version if document is not None else None
        if held is not None and held < (claim.version or 0):
            raise RecordBehind(claim.object, "has rows that are older than the news of them")


__all__ = ["SyncSettings", "SyncWorker"]
