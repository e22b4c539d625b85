"""An index that fails or hangs holds up no write and loses no change."""

import asyncio

import pytest
import sqlalchemy as sa

from knowledge_service import IndexFailed
from knowledge_service.sync import SyncSettings, SyncWorker
from tests.knowledge_service.desk import Desk
from tests.knowledge_service.failing_index import FailingIndex


async def test_a_failing_index_fails_no_write_and_loses_no_change(desk: Desk, failing: FailingIndex) -> None:
    """The change waits, is tried again later and later, and arrives when the index is back."""
    failing.error = IndexFailed("index", "is away")
    await desk.put(1, "alpha")
    assert await desk.worker.drain() == 1
    assert await desk.worker.drain() == 0
    assert desk.failures() == ["knowledge_index_failed"]
    failing.error = None
    desk.now += 0.4
    assert await desk.worker.drain() == 0
    desk.now += 0.2
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_a_failed_sync_is_logged_with_its_place_and_without_anybodys_words(
    desk: Desk, failing: FailingIndex, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither what the vendor said nor the text of a row is in the log, wherever the failure came from."""
    failing.error = IndexFailed("index", "is down")
    failing.error.__cause__ = OSError("401 for key hunter2")
    await desk.put(1, "confidential")
    await desk.worker.step()
    assert "Sync of 1 records of 'article' failed: knowledge_index_failed, OSError" in caplog.text
    assert "hunter2" not in caplog.text
    broken = sa.insert(desk.table).values(id=1, body="confidential")
    with pytest.raises(sa.exc.IntegrityError) as refused:
        await desk.write(broken)
    assert "confidential" not in str(refused.value)


async def test_an_index_that_names_a_time_is_left_alone_until_then(desk: Desk, failing: FailingIndex) -> None:
    """Retry-After is honoured even when the back-off is shorter."""
    failing.error = IndexFailed("index", "is busy", retry_after_seconds=60)
    await desk.put(1, "alpha")
    await desk.worker.drain()
    failing.error = None
    desk.now += 59
    assert await desk.worker.drain() == 0
    desk.now += 2
    assert await desk.worker.drain() == 1


async def test_a_struggling_index_is_asked_for_less(desk: Desk, failing: FailingIndex) -> None:
    """The batch halves at each failure and grows again with each success."""
    for record in range(8):
        await desk.put(record, "alpha")
    failing.error = IndexFailed("index", "is busy")
    await desk.worker.step()
    await desk.worker.step()
    failing.error = None
    desk.now += 10
    await desk.worker.drain()
    assert failing.batches == [4, 2, 1, 2, 4, 1]
    assert len(await desk.indexed()) == 8


async def test_after_the_last_attempt_a_change_is_a_dead_letter_that_can_be_replayed(
    desk: Desk, failing: FailingIndex
) -> None:
    """Nothing is dropped in silence: it can be seen, and tried again when the cause is gone."""
    failing.error = IndexFailed("index", "is away")
    await desk.put(1, "alpha")
    for _ in range(5):
        await desk.worker.drain()
        desk.now += 1000
    letters = await desk.outbox.dead_letters()
    assert [(letter.object, letter.record_id, letter.attempts, letter.code) for letter in letters] == [
        ("article", "1", 3, "knowledge_index_failed")
    ]
    assert (await desk.outbox.status()).dead == 1
    failing.error = None
    assert await desk.outbox.replay("other") == 0
    assert await desk.outbox.replay() == 1
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]
    assert (await desk.outbox.status()).dead == 0


async def test_one_refused_document_does_not_hold_up_its_batch(desk: Desk, failing: FailingIndex) -> None:
    """The batch is halved until the culprit stands alone; it dies at once, the others arrive."""
    failing.refused_word = "poison"
    for record in range(4):
        await desk.put(record, "poison" if record == 2 else "alpha")
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:0", "articles:1", "articles:3"]
    assert [letter.record_id for letter in await desk.outbox.dead_letters()] == ["2"]
    await desk.write(sa.update(desk.table).where(desk.table.c.id == 2).values(body="antidote", revision=2))
    await desk.worker.drain()
    assert (await desk.outbox.status()).dead == 0
    assert len(await desk.indexed()) == 4


async def test_a_write_does_not_wait_for_an_index_that_hangs(desk: Desk, failing: FailingIndex) -> None:
    """While a delivery is stuck in the index, writes to the same row go through."""
    failing.go_on.clear()
    await desk.put(1, "alpha")
    delivery = asyncio.create_task(desk.worker.drain())
    async with asyncio.timeout(5):
        await failing.entered.wait()
        await desk.write(sa.update(desk.table).values(body="omega", revision=2))
        failing.go_on.set()
        await delivery
    assert (await desk.outbox.status()).pending == 0


async def test_an_index_that_hangs_is_given_up_and_tried_again(desk: Desk, failing: FailingIndex) -> None:
    """A third of the lease bounds a call of the index, so that no lease ends under a call that still runs."""
    failing.go_on.clear()
    await desk.put(1, "alpha")
    async with asyncio.timeout(5):
        await SyncWorker(desk.service, desk.outbox, SyncSettings(lease_seconds=0.3)).step()
    assert desk.failures() == ["knowledge_timeout"]
    failing.go_on.set()
    desk.now += 10
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_waiting_for_a_reindex_is_no_failure_of_the_index(desk: Desk) -> None:
    """A page of a slow reindex may hold a source for longer than a call may take."""
    worker = SyncWorker(desk.service, desk.outbox, SyncSettings(lease_seconds=3))
    await desk.put(1, "alpha")
    async with asyncio.timeout(10):
        async with desk.service.lock("articles"):
            delivery = asyncio.create_task(worker.step())
            # Not a wait for anything: the source is held for longer than a third of the lease.
            await asyncio.sleep(1.1)
        await delivery
    assert desk.failures() == []
    assert await desk.indexed() == ["articles:1"]
