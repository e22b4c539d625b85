"""Changes reach the index whoever makes them, and nothing older than what is there."""

import pytest
import sqlalchemy as sa

from knowledge_service import KnowledgeDocument, RecordBehind
from knowledge_service.changes import RecordChange
from knowledge_service.sql.database import open_database
from knowledge_service.sql.outbox import Outbox, record_change
from knowledge_service.sql.schema import create_tables, outbox
from knowledge_service.sql.triggers import install_triggers
from tests.knowledge_service.desk import Desk
from tests.knowledge_service.failing_index import FailingIndex


async def test_created_updated_and_deleted_records_follow_into_the_index(desk: Desk) -> None:
    """A row's document appears, changes and vanishes with it."""
    await desk.put(1, "alpha")
    await desk.put(2, "alpha")
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1", "articles:2"]
    await desk.write(sa.update(desk.table).where(desk.table.c.id == 1).values(body="omega", revision=2))
    await desk.write(sa.delete(desk.table).where(desk.table.c.id == 2))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]
    assert desk.texts() == ["omega"]
    assert (await desk.outbox.status()).pending == 0


async def test_a_record_that_stops_matching_leaves_the_index(desk: Desk) -> None:
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


async def test_a_predicate_write_to_many_rows_is_noted_row_by_row(desk: Desk) -> None:
    """What event systems miss (bulk updates and deletes) is caught by the triggers."""
    for record in range(10):
        await desk.put(record, "alpha")
    await desk.worker.drain()
    await desk.write(sa.delete(desk.table).where(desk.table.c.id >= 3))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:0", "articles:1", "articles:2"]


async def test_a_changed_key_moves_the_document(desk: Desk) -> None:
    """The old id's document would otherwise stay for ever."""
    await desk.put(1, "alpha")
    await desk.worker.drain()
    await desk.write(sa.update(desk.table).values(id=7))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:7"]


async def test_a_rolled_back_write_is_never_delivered(desk: Desk) -> None:
    """The change stands in the row's own transaction: both or neither."""
    with pytest.raises(RuntimeError):  # noqa: PT012
        async with desk.engine.begin() as connection:
            await connection.execute(sa.insert(desk.table).values(id=1, body="alpha"))
            await record_change(connection, RecordChange(object="article", record_id="1"))
            raise RuntimeError("the host changed its mind")
    assert await desk.worker.drain() == 0


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has no TRUNCATE
async def test_a_truncated_table_empties_the_index(desk: Desk) -> None:
    """No row trigger fires then; the source is compared as a whole."""
    for record in range(5):
        await desk.put(record, "alpha")
    await desk.worker.drain()
    await desk.write(sa.text("truncate article"))
    await desk.worker.drain()
    assert await desk.indexed() == []


async def test_many_changes_of_one_record_are_one_delivery(desk: Desk, failing: FailingIndex) -> None:
    """Only the last state matters, so a busy record costs one call."""
    await desk.put(1, "alpha")
    for number in range(20):
        await desk.write(sa.update(desk.table).values(body=f"state {number}", revision=number + 2))
    assert await desk.worker.drain() == 1
    assert failing.batches == [1]


async def test_out_of_order_news_never_brings_back_an_older_state(desk: Desk) -> None:
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
    assert desk.texts() == ["alpha"]


async def test_an_older_version_of_a_document_loses(desk: Desk) -> None:
    """A writer that read before and writes after another one does not overwrite it."""
    newer = KnowledgeDocument(id="articles:1", source_id="articles", source_record_id="1", content="new", version=3)
    await desk.service.index_document("articles", newer)
    await desk.service.index_document("articles", newer.model_copy(update={"content": "old", "version": 2}))
    assert desk.texts() == ["new"]


async def test_a_replica_that_lags_behind_the_news_is_read_again(desk: Desk) -> None:
    """A row older than the news of it is not taken for the truth."""
    await desk.put(1, "alpha", revision=1)
    await desk.outbox.put([RecordChange(object="article", record_id="1", version=2)])
    await desk.worker.drain()
    assert await desk.indexed() == []
    assert desk.failures() == [RecordBehind.code]
    await desk.write(sa.update(desk.table).values(body="omega", revision=2))
    await desk.worker.drain()
    assert await desk.indexed() == ["articles:1"]


async def test_the_source_that_is_not_kept_in_step_is_left_alone(desk: Desk) -> None:
    """refresh.onRecordChange false hands the index to somebody else."""
    declared = desk.source.model_dump(by_alias=True) | {"version": 2, "refresh": {"onRecordChange": False}}
    desk.service.register_source(type(desk.source).model_validate(declared))
    await desk.put(1, "alpha")
    await desk.worker.drain()
    assert await desk.indexed() == []
    assert not await desk.worker.accept({"type": "record.created", "object": "article", "record": {"id": 1}})


async def test_the_outbox_holds_no_text_of_a_record(desk: Desk) -> None:
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
