"""Workers share the changes, and what one leaves behind another delivers."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from knowledge_service.changes import RecordChange
from knowledge_service.events import Synced
from knowledge_service.sync import SyncSettings, SyncWorker
from tests.knowledge_service.desk import Desk
from tests.knowledge_service.failing_index import FailingIndex


async def test_two_workers_never_hold_the_same_record(desk: Desk) -> None:
    """Claims of several workers are disjoint, also while newer changes of a claimed record arrive."""
    for record in range(12):
        await desk.put(record, "alpha")
    async with asyncio.timeout(20):
        batches = await asyncio.gather(*(desk.outbox.claim(4, lease_seconds=60) for _ in range(5)))
    held = [claim.record_id for batch in batches for claim in batch]
    assert sorted(held, key=int) == [str(record) for record in range(12)]
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    assert await desk.outbox.claim(50, lease_seconds=60) == []


async def test_what_a_dead_worker_held_is_free_when_its_lease_ends(desk: Desk) -> None:
    """Nobody has to clean up after a crash."""
    await desk.put(1, "alpha")
    assert len(await desk.outbox.claim(4, lease_seconds=60)) == 1
    assert await desk.worker.drain() == 0
    desk.now += 61
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_a_worker_that_lost_its_lease_has_its_record_delivered_again(desk: Desk) -> None:
    """Its write may have come after the other worker's; one more delivery makes both agree."""
    await desk.put(1, "alpha")
    slow = await desk.outbox.claim(4, lease_seconds=60)
    desk.now += 61
    await desk.worker.drain()
    await desk.outbox.settle(slow)
    assert (await desk.outbox.status()).pending == 1


async def test_a_change_during_delivery_is_delivered_too(desk: Desk) -> None:
    """Settling removes only what was claimed."""
    await desk.put(1, "alpha")
    claims = await desk.outbox.claim(4, lease_seconds=60)
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    await desk.outbox.settle(claims)
    assert (await desk.outbox.status()).pending == 1
    assert await desk.worker.drain() == 1


async def test_a_cancelled_worker_gives_its_records_back(desk: Desk, failing: FailingIndex) -> None:
    """A shutdown leaves nothing leased."""
    failing.go_on.clear()
    await desk.put(1, "alpha")
    delivery = asyncio.create_task(desk.worker.drain())
    async with asyncio.timeout(5):
        await failing.entered.wait()
        delivery.cancel()
        with pytest.raises(asyncio.CancelledError):
            await delivery
    assert len(await desk.outbox.claim(4, lease_seconds=60)) == 1


async def test_a_running_worker_delivers_on_news_and_stops_when_told(desk: Desk) -> None:
    """It sleeps until the next poll or until it is notified."""
    worker = SyncWorker(desk.service, desk.outbox, SyncSettings(poll_seconds=60))
    stop, arrived = asyncio.Event(), asyncio.Event()
    desk.service._listeners.append(lambda event: arrived.set() if isinstance(event, Synced) else None)
    running = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(5):
        await desk.put(1, "alpha")
        await worker.accept({"type": "data.record.created", "object": "article", "recordId": "1"})
        await arrived.wait()
        stop.set()
        await running
    assert await desk.indexed() == ["articles:1"]


class Complaints(logging.Handler):
    """Sets an event when something is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.made = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.made.set()


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """What sync logs, on the loop of the test."""
    handler, logger = Complaints(), logging.getLogger("knowledge_service.sync")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def test_a_worker_outlives_a_database_that_goes_away(desk: Desk, complaints: Complaints) -> None:
    """One failed look at the outbox does not end the worker."""
    stop, arrived = asyncio.Event(), asyncio.Event()
    desk.service._listeners.append(lambda event: arrived.set() if isinstance(event, Synced) else None)
    worker = SyncWorker(desk.service, desk.outbox, SyncSettings(poll_seconds=0.01))
    await desk.write(sa.text("alter table knowledge_outbox rename to elsewhere"))
    running = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(5):
        await complaints.made.wait()
        await desk.write(sa.text("alter table elsewhere rename to knowledge_outbox"))
        await desk.outbox.put([RecordChange(object="article", record_id="1")])
        await arrived.wait()
        stop.set()
        await running
