"""Starts processes that write and sync until they are killed. Run by `test_kill.py`, one line of JSON for each process.

It imports everything once and forks, so that a process lives for its work and not for its imports.
"""

import asyncio
import json
import os
import random
import sys
import time
from typing import Any

import sqlalchemy as sa

from knowledge_service import KnowledgeService, RowPolicy, source_from
from knowledge_service.indexes.postgres import PostgresIndex
from knowledge_service.indexes.ragflow import RagflowIndex
from knowledge_service.sql.data_engine import SqlDataEngine, SqlObject
from knowledge_service.sql.database import open_database
from knowledge_service.sql.ledger import SqlLedger
from knowledge_service.sql.outbox import Outbox
from knowledge_service.sql.schema import create_tables
from knowledge_service.sql.triggers import install_triggers
from knowledge_service.sync import SyncSettings, SyncWorker

NOTE = sa.Table(
    "note",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hidden", sa.Boolean, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
)
RECORDS = 25


def notes() -> Any:
    content = {"kind": "object", "object": "note", "contentFields": ["body"], "versionField": "revision"}
    content["where"] = {"hidden": False}  # type: ignore[assignment]
    config = {"datasetId": "notes"}
    return source_from(
        {"id": "notes", "label": "Notes", "adapter": "index", "adapterConfig": config, "source": content}
    )


async def live(task: dict[str, Any]) -> None:
    """Write and sync at the same time, for ever; with ``writes`` false only deliver what waits, and end."""
    engine = open_database(task["database"])
    async with engine.begin() as connection:
        await create_tables(connection)
        await connection.run_sync(NOTE.metadata.create_all)
        await install_triggers(connection, NOTE, version_column="revision")
    service = KnowledgeService(
        data_engine=SqlDataEngine(engine, {"note": SqlObject(NOTE, RowPolicy())}), ledger=SqlLedger(engine)
    )
    service.register_adapter("index", await _index(task))
    service.register_source(notes())
    # Each process lives an hour after the one before it, so that nobody waits for leases of the dead.
    outbox = Outbox(engine, clock=lambda: time.time() + 3600 * task["generation"])
    worker = SyncWorker(service, outbox, SyncSettings(batch=6))
    sys.stdout.write("alive\n")
    sys.stdout.flush()
    if not task["writes"]:
        await worker.drain()
        return
    await asyncio.gather(_write(engine, random.Random(task["generation"])), worker.run(asyncio.Event()))  # noqa: S311


async def _index(task: dict[str, Any]) -> Any:
    if task["index"].startswith("postgresql"):
        index = PostgresIndex(open_database(task["index"]))
        await index.prepare()
        return index
    return RagflowIndex(task["index"], "key", poll_seconds=0.001)


async def _write(engine: Any, chance: random.Random) -> None:
    while True:
        record = chance.randrange(RECORDS)
        async with engine.execution_options(sqlite_begin="immediate").begin() as connection:
            revision = (
                await connection.execute(sa.select(sa.func.coalesce(sa.func.max(NOTE.c.revision), 0)))
            ).scalar_one()
            await connection.execute(sa.delete(NOTE).where(NOTE.c.id == record))
            if chance.random() < 0.75:
                line = {"id": record, "body": f"note {record} at {revision + 1}", "hidden": chance.random() < 0.2}
                await connection.execute(sa.insert(NOTE).values(**line, revision=revision + 1))
        await asyncio.sleep(0)


def main() -> None:
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            asyncio.run(live(json.loads(line)))
            os._exit(0)
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
        _, status = os.waitpid(process, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
