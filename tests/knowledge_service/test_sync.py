"""Changes reach the index whoever makes them; the write that made them neither waits nor fails."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from knowledge_service import AdapterContext, DocumentRefused, IndexFailed, KnowledgeDocument, RecordBehind
from knowledge_service.changes import RecordChange
from knowledge_service.events import Synced, SyncFailed
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.sql.database import open_database
from knowledge_service.sql.outbox import Outbox, record_change
from knowledge_service.sql.schema import create_tables, outbox
from knowledge_service.sql.triggers import install_triggers
from knowledge_service.sync import SyncSettings, SyncWorker


class FailingIndex(MemoryIndex):
    """Fails as told: for every call, or for documents that hold a word."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.refused_word = ""
        self.batches: list[int] = []

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        self.batches.append(len(documents))
        if self.error is not None:
            raise self.error
        if self.refused_word and any(self.refused_word in document.content for document in documents):
            raise DocumentRefused("index", "does not take that word")
        await super().upsert(documents, context)


@pytest.fixture
def failing(desk: Any) -> FailingIndex:
    index = FailingIndex()
    desk.index = index
    desk.service.register_adapter("index", index)
    return index


async def test_created_updated_and_deleted_records_follow_into_the_index(desk: Any) -> None:
    """A row's document appears, changes and vanishes with it."""
    await desk.put(1, "alpha")
    await desk.put(2, "alpha")
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1", "articles:2"]
    await desk.write(sa.update(desk.table).where(desk.table.c.id == 1).values(body="omega", revision=2))
    await desk.write(sa.delete(desk.table).where(desk.table.c.id == 2))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]
    hits = [passage.text for passage in desk.index._sources["articles"].passages.values()]
    assert hits == ["omega"]
    assert (await desk.outbox.status()).pending == 0


async def test_a_record_that_stops_matching_leaves_the_index(desk: Any) -> None:
    """The source's where holds for changes as it holds for a reindex, in both directions."""
    await desk.put(1, "alpha", status="archived")
    await desk.worker.drain()
    assert await desk.indexed() == []
    await desk.write(sa.update(desk.table).values(status="published"))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]
    await desk.write(sa.update(desk.table).values(status="archived"))
    await desk.worker.drain()
    assert await desk.indexed() == []


async def test_a_predicate_write_to_many_rows_is_noted_row_by_row(desk: Any) -> None:
    """What event systems miss (bulk updates and deletes) is caught by the triggers."""
    for record in range(10):
        await desk.put(record, "alpha")
    await desk.worker.drain()
    await desk.write(sa.delete(desk.table).where(desk.table.c.id >= 3))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:0", "articles:1", "articles:2"]


async def test_a_changed_key_moves_the_document(desk: Any) -> None:
    """The old id's document would otherwise stay for ever."""
    await desk.put(1, "alpha")
    await desk.worker.drain()
    await desk.write(sa.update(desk.table).values(id=7))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:7"]


async def test_a_rolled_back_write_is_never_delivered(desk: Any) -> None:
    """The change stands in the row's own transaction: both or neither."""
    with pytest.raises(RuntimeError):  # noqa: PT012
        async with desk.engine.begin() as connection:
            await connection.execute(sa.insert(desk.table).values(id=1, body="alpha"))
            await record_change(connection, RecordChange(object="article", record_id="1"))
            raise RuntimeError("the host changed its mind")
    assert await desk.worker.drain() == 0


async def test_a_truncated_table_empties_the_index(desk: Any) -> None:
    """No row trigger fires then; the source is compared as a whole."""
    if desk.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no TRUNCATE")
    for record in range(5):
        await desk.put(record, "alpha")
    await desk.worker.drain()
    await desk.write(sa.text("truncate article"))
    await desk.worker.drain()
    assert await desk.indexed() == []


async def test_many_changes_of_one_record_are_one_delivery(desk: Any, failing: FailingIndex) -> None:
    """Only the last state matters, so a busy record costs one call."""
    await desk.put(1, "alpha")
    for number in range(20):
        await desk.write(sa.update(desk.table).values(body=f"state {number}", revision=number + 2))
    assert await desk.worker.drain() == 1
    assert failing.batches == [1]


async def test_a_failing_index_fails_no_write_and_loses_no_change(desk: Any, failing: FailingIndex) -> None:
    """The change waits, is tried again later and later, and arrives when the index is back."""
    failing.error = IndexFailed("index", "is away")
    await desk.put(1, "alpha")
    assert await desk.worker.drain() == 1
    assert await desk.worker.drain() == 0
    assert [event.code for event in desk.events if isinstance(event, SyncFailed)] == ["knowledge_index_failed"]
    failing.error = None
    desk.now += 0.4
    assert await desk.worker.drain() == 0
    desk.now += 0.2
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_a_failed_sync_is_logged_with_its_place_and_without_anybodys_words(
    desk: Any, failing: FailingIndex, caplog: pytest.LogCaptureFixture
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


async def test_an_index_that_names_a_time_is_left_alone_until_then(desk: Any, failing: FailingIndex) -> None:
    """Retry-After is honoured even when the back-off is shorter."""
    failing.error = IndexFailed("index", "is busy", retry_after_seconds=60)
    await desk.put(1, "alpha")
    await desk.worker.drain()
    failing.error = None
    desk.now += 59
    assert await desk.worker.drain() == 0
    desk.now += 2
    assert await desk.worker.drain() == 1


async def test_a_struggling_index_is_asked_for_less(desk: Any, failing: FailingIndex) -> None:
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
    desk: Any, failing: FailingIndex
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


async def test_one_refused_document_does_not_hold_up_its_batch(desk: Any, failing: FailingIndex) -> None:
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


async def test_out_of_order_news_never_brings_back_an_older_state(desk: Any) -> None:
    """News only says which record to read; late news of a deleted or changed record changes nothing."""
    await desk.put(1, "alpha", revision=5)
    await desk.put(2, "beta")
    await desk.worker.drain()
    await desk.write(sa.delete(desk.table).where(desk.table.c.id == 2))
    await desk.worker.drain()
    late = [{"type": "data.record.updated", "object": "article", "recordId": str(one), "version": 2} for one in (1, 2)]
    for event in late:
        assert await desk.worker.accept({**event, "after": {"id": event["recordId"], "body": "old text"}})
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]
    assert [passage.text for passage in desk.index._sources["articles"].passages.values()] == ["alpha"]


async def test_an_older_version_of_a_document_loses(desk: Any) -> None:
    """A writer that read before and writes after another one does not overwrite it."""
    newer = KnowledgeDocument(id="articles:1", source_id="articles", source_record_id="1", content="new", version=3)
    await desk.service.index_document("articles", newer)
    await desk.service.index_document("articles", newer.model_copy(update={"content": "old", "version": 2}))
    assert [passage.text for passage in desk.index._sources["articles"].passages.values()] == ["new"]


async def test_a_replica_that_lags_behind_the_news_is_read_again(desk: Any) -> None:
    """A row older than the news of it is not taken for the truth."""
    await desk.put(1, "alpha", revision=1)
    await desk.outbox.put([RecordChange(object="article", record_id="1", version=2)])
    await desk.worker.drain()
    assert await desk.indexed() == []
    assert [event.code for event in desk.events if isinstance(event, SyncFailed)] == [RecordBehind.code]
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]


async def test_two_workers_never_hold_the_same_record(desk: Any) -> None:
    """Claims of several workers are disjoint, also while newer changes of a claimed record arrive."""
    for record in range(12):
        await desk.put(record, "alpha")
    batches = await asyncio.gather(*(desk.outbox.claim(4, lease_seconds=60) for _ in range(5)))
    held = [claim.record_id for batch in batches for claim in batch]
    assert sorted(held, key=int) == [str(record) for record in range(12)]
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    assert await desk.outbox.claim(50, lease_seconds=60) == []


async def test_what_a_dead_worker_held_is_free_when_its_lease_ends(desk: Any) -> None:
    """Nobody has to clean up after a crash."""
    await desk.put(1, "alpha")
    assert len(await desk.outbox.claim(4, lease_seconds=60)) == 1
    assert await desk.worker.drain() == 0
    desk.now += 61
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_a_worker_that_lost_its_lease_has_its_record_delivered_again(desk: Any) -> None:
    """Its write may have come after the other worker's; one more delivery makes both agree."""
    await desk.put(1, "alpha")
    slow = await desk.outbox.claim(4, lease_seconds=60)
    desk.now += 61
    await desk.worker.drain()
    await desk.outbox.settle(slow)
    assert (await desk.outbox.status()).pending == 1


async def test_a_change_during_delivery_is_delivered_too(desk: Any) -> None:
    """Settling removes only what was claimed."""
    await desk.put(1, "alpha")
    claims = await desk.outbox.claim(4, lease_seconds=60)
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    await desk.outbox.settle(claims)
    assert (await desk.outbox.status()).pending == 1
    assert await desk.worker.drain() == 1


async def test_a_write_does_not_wait_for_an_index_that_hangs(desk: Any, failing: FailingIndex) -> None:
    """While a delivery is stuck in the index, writes to the same row go through."""
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def stuck(documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        entered.set()
        await go_on.wait()

    failing.upsert = stuck  # type: ignore[method-assign]
    await desk.put(1, "alpha")
    delivery = asyncio.create_task(desk.worker.drain())
    async with asyncio.timeout(5):
        await entered.wait()
        await desk.write(sa.update(desk.table).values(body="omega", revision=2))
        go_on.set()
        await delivery
    assert (await desk.outbox.status()).pending == 0


async def test_an_index_that_hangs_is_given_up_and_tried_again(desk: Any, failing: FailingIndex) -> None:
    """A third of the lease bounds a call of the index, so that no lease ends under a call that still runs."""

    async def stuck(documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        await asyncio.Event().wait()

    failing.upsert = stuck  # type: ignore[method-assign]
    await desk.put(1, "alpha")
    async with asyncio.timeout(5):
        await SyncWorker(desk.service, desk.outbox, SyncSettings(lease_seconds=0.3)).step()
    assert [event.code for event in desk.events if isinstance(event, SyncFailed)] == ["knowledge_timeout"]
    del failing.upsert
    desk.now += 10
    assert await desk.worker.drain() == 1
    assert await desk.indexed() == ["articles:1"]


async def test_waiting_for_a_reindex_is_no_failure_of_the_index(desk: Any) -> None:
    """A page of a slow reindex may hold a source for longer than a call may take."""
    worker = SyncWorker(desk.service, desk.outbox, SyncSettings(lease_seconds=3))
    await desk.put(1, "alpha")
    async with asyncio.timeout(10):
        async with desk.service.lock("articles"):
            delivery = asyncio.create_task(worker.step())
            # Not a wait for anything: the source is held for longer than a third of the lease.
            await asyncio.sleep(1.1)
        await delivery
    assert not [event for event in desk.events if isinstance(event, SyncFailed)]
    assert await desk.indexed() == ["articles:1"]


async def test_a_cancelled_worker_gives_its_records_back(desk: Any, failing: FailingIndex) -> None:
    """A shutdown leaves nothing leased."""
    entered = asyncio.Event()

    async def stuck(documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        entered.set()
        await asyncio.Event().wait()

    failing.upsert = stuck  # type: ignore[method-assign]
    await desk.put(1, "alpha")
    delivery = asyncio.create_task(desk.worker.drain())
    async with asyncio.timeout(5):
        await entered.wait()
        delivery.cancel()
        with pytest.raises(asyncio.CancelledError):
            await delivery
    assert len(await desk.outbox.claim(4, lease_seconds=60)) == 1


async def test_a_running_worker_delivers_on_news_and_stops_when_told(desk: Any) -> None:
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


async def test_a_worker_outlives_a_database_that_goes_away(desk: Any) -> None:
    """One failed look at the outbox does not end the worker."""
    stop, arrived = asyncio.Event(), asyncio.Event()
    desk.service._listeners.append(lambda event: arrived.set() if isinstance(event, Synced) else None)
    worker = SyncWorker(desk.service, desk.outbox, SyncSettings(poll_seconds=0.01))
    await desk.write(sa.text("alter table knowledge_outbox rename to elsewhere"))
    running = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(5):
        for _ in range(20):
            await asyncio.sleep(0)
        await desk.write(sa.text("alter table elsewhere rename to knowledge_outbox"))
        await desk.outbox.put([RecordChange(object="article", record_id="1")])
        await arrived.wait()
        stop.set()
        await running


async def test_the_source_that_is_not_kept_in_step_is_left_alone(desk: Any) -> None:
    """refresh.onRecordChange false hands the index to somebody else."""
    declared = desk.source.model_dump(by_alias=True) | {"version": 2, "refresh": {"onRecordChange": False}}
    desk.service.register_source(type(desk.source).model_validate(declared))
    await desk.put(1, "alpha")
    await desk.worker.drain()
    assert await desk.indexed() == []
    assert not await desk.worker.accept({"type": "record.created", "object": "article", "record": {"id": 1}})


async def test_the_outbox_holds_no_text_of_a_record(desk: Any) -> None:
    """Only which record changed: a backup of the outbox leaks nothing."""
    await desk.put(1, "a secret body")
    async with desk.engine.connect() as connection:
        (row,) = (await connection.execute(sa.select(outbox))).all()
    assert "secret" not in repr(row)


async def test_who_may_write_the_table_need_not_see_the_outbox(postgres_url: str) -> None:
    """The triggers note changes with the rights of their owner."""
    role = "writer_" + postgres_url.rpartition("_")[2]
    owner, writer = open_database(postgres_url), open_database(postgres_url.replace("//postgres@", f"//{role}@"))
    table = sa.Table("paper", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("body", sa.Text))
    async with owner.begin() as connection:
        await create_tables(connection)
        await connection.run_sync(table.metadata.create_all)
        await install_triggers(connection, table)
        await install_triggers(connection, table)
        await connection.execute(sa.text(f"create role {role} login"))
        await connection.execute(sa.text(f"grant insert, update on paper to {role}"))
    async with writer.begin() as connection:
        await connection.execute(sa.insert(table).values(id=1, body="alpha"))
    with pytest.raises(sa.exc.ProgrammingError):
        async with writer.connect() as connection:
            await connection.execute(sa.select(outbox))
    assert (await Outbox(owner).status()).pending == 1
    await writer.dispose()
    async with owner.begin() as connection:
        await connection.execute(sa.text(f"drop owned by {role}"))
        await connection.execute(sa.text(f"drop role {role}"))
    await owner.dispose()
