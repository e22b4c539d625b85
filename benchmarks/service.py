"""What the knowledge service adds: to a search over the bare index, to an upsert in sync, and to a read in reindexing.

Rows lie in SQLite; every hit is read again there with the caller's identity, so the more of the best matches a caller
may not read, the more is proposed and read. Every record holds some of twelve words, so nearly all match every query.
"""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import psutil
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, milliseconds, quiet_collector, spread
from knowledge_service import (
    AdapterContext,
    AdapterSearch,
    ExecutionContext,
    IndexHit,
    KnowledgeDocument,
    KnowledgeService,
    KnowledgeSource,
    RowPolicy,
    source_from,
)
from knowledge_service.events import ServiceEvent, Synced
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.sql.data_engine import SqlDataEngine, SqlObject
from knowledge_service.sql.database import open_database
from knowledge_service.sql.ledger import SqlLedger
from knowledge_service.sql.outbox import Outbox
from knowledge_service.sql.schema import create_tables
from knowledge_service.sql.triggers import install_triggers
from knowledge_service.sync import SyncSettings, SyncWorker

ARTICLE = sa.Table(
    "article",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("public", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
POLICY = RowPolicy.of({"where": {"public": True}})
ADA = ExecutionContext(user_id="ada")
WORDS = [
    "refund",
    "invoice",
    "parcel",
    "delivery",
    "address",
    "payment",
    "card",
    "account",
    "password",
    "return",
    "warranty",
    "order",
]
SEARCHES = 150
SYNCED = 5_000
REINDEXED = 100_000


def body(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=40))


def declared(name: str) -> KnowledgeSource:
    content = {"kind": "object", "object": "article", "contentFields": ["body"]}
    return source_from({"id": name, "label": name, "adapter": "index", "source": content})


class Nothing(MemoryIndex):
    """Keeps nothing, so that only the service's own time and memory are seen."""

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        return None


@asynccontextmanager
async def database(rows: int, forbidden: float = 0.0) -> AsyncIterator[AsyncEngine]:
    """A SQLite file with ``rows`` articles, a share of which the caller may not read."""
    chance = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{folder}/bench.sqlite")
        async with engine.begin() as connection:
            await create_tables(connection)
            await connection.run_sync(ARTICLE.metadata.create_all)
            for start in range(0, rows, 1000):
                ids = range(start, min(start + 1000, rows))
                lines = [{"id": one, "public": chance.random() >= forbidden, "body": body(chance)} for one in ids]
                await connection.execute(sa.insert(ARTICLE), lines)
        yield engine
        await engine.dispose()


def service_over(engine: AsyncEngine, index: MemoryIndex, heard: list[ServiceEvent] | None = None) -> KnowledgeService:
    made = KnowledgeService(
        data_engine=SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)}),
        ledger=SqlLedger(engine),
        listeners=[heard.append] if heard is not None else [],
        timeout_seconds=30,
    )
    made.register_adapter("index", index)
    return made


async def searching(sources: int, forbidden: float) -> Row:
    """The service against the bare index: the same queries, the same number of results."""
    chance = random.Random(1)
    async with database(2_000, forbidden) as engine:
        index = MemoryIndex()
        service = service_over(engine, index)
        asked = [declared(f"source_{number}") for number in range(sources)]
        for source in asked:
            service.register_source(source)
            await service.reindex_source(source.id)
        queries = [" ".join(chance.sample(WORDS, 3)) for _ in range(SEARCHES)]

        async def bare(query: str) -> list[Sequence[IndexHit]]:
            return [await index.search(query, AdapterSearch(source=source, limit=5)) for source in asked]

        with quiet_collector():
            baseline = [await milliseconds(lambda query=query: bare(query)) for query in queries]  # type: ignore[misc]
            measured = [
                await milliseconds(lambda query=query: service.search(query, execution_context=ADA, top_k=5))  # type: ignore[misc]
                for query in queries
            ]
    return Row(f"{sources} source(s), {forbidden:.0%} forbidden", spread(measured), spread(baseline))


async def syncing() -> tuple[Row, float]:
    """Milliseconds a record from the outbox to the index, in batches of 100; the baseline is the bare upsert."""
    async with database(SYNCED) as engine:
        index = MemoryIndex()
        service = service_over(engine, index)
        source = declared("articles")
        service.register_source(source)
        outbox = Outbox(engine)
        async with engine.begin() as connection:
            await install_triggers(connection, ARTICLE)
            await connection.execute(sa.update(ARTICLE).values(public=True))
        worker = SyncWorker(service, outbox)
        measured: list[float] = []
        started = time.perf_counter()
        while True:
            begun = time.perf_counter()
            if not (done := await worker.step()):
                break
            measured.append((time.perf_counter() - begun) * 1000 / done)
        seconds = time.perf_counter() - started
        documents = list(
            (await service.current.readable(source, [f"articles:{n}" for n in range(SYNCED)], ADA)).values()
        )
        bare, context = MemoryIndex(), AdapterContext(source=source, reason="bench")
        batches = [documents[start : start + 100] for start in range(0, SYNCED, 100)]
        baseline = [await milliseconds(lambda batch=batch: bare.upsert(batch, context)) / 100 for batch in batches]  # type: ignore[misc]
    return Row(f"sync of {SYNCED} records", spread(measured), spread(baseline)), SYNCED / seconds


async def lagging() -> Row:
    """Milliseconds from the commit of a row to its place in the index, under a steady stream of writes."""
    heard: list[ServiceEvent] = []
    async with database(500) as engine:
        service = service_over(engine, MemoryIndex(), heard)
        service.register_source(declared("articles"))
        async with engine.begin() as connection:
            await install_triggers(connection, ARTICLE)
        worker = SyncWorker(service, Outbox(engine), SyncSettings(poll_seconds=0.02))
        stop = asyncio.Event()
        running = asyncio.create_task(worker.run(stop))
        for number in range(400):
            async with engine.execution_options(sqlite_begin="immediate").begin() as connection:
                await connection.execute(sa.update(ARTICLE).where(ARTICLE.c.id == number).values(body=f"new {number}"))
            worker.notify()
            await asyncio.sleep(0.005)
        stop.set()
        await running
        await worker.drain()
    return Row("lag of a row", spread([event.lag_seconds * 1000 for event in heard if isinstance(event, Synced)]))


async def reindexing() -> tuple[Row, float]:
    """Milliseconds a record, with an index that keeps nothing; the baseline only reads the same pages.

    Returns the growth of the process in MB as well.
    """
    async with database(REINDEXED) as engine:

        async def read(start: int) -> None:
            page = sa.select(ARTICLE).where(ARTICLE.c.id >= start).order_by(ARTICLE.c.id).limit(500)
            async with engine.connect() as connection:
                (await connection.execute(page)).all()

        baseline = [await milliseconds(lambda start=start: read(start)) / 500 for start in range(0, REINDEXED, 500)]  # type: ignore[misc]
        service = service_over(engine, Nothing())
        service.register_source(declared("articles"))
        memory = [psutil.Process().memory_info().rss]
        moments = [time.perf_counter()]

        def report(_: object) -> None:
            moments.append(time.perf_counter())
            memory.append(psutil.Process().memory_info().rss)

        await service.reindex_source("articles", report=report)
    # The last report is that of pruning, which reads no record.
    pages = [(later - earlier) * 1000 / 500 for earlier, later in pairwise(moments)][:-1]
    row = Row(f"reindex of {REINDEXED} records", spread(pages), spread(baseline))
    return row, (max(memory) - memory[0]) / 2**20


async def main() -> list[Table]:
    searches = [await searching(sources, share) for sources in (1, 4, 8) for share in (0.0, 0.5, 0.9)]
    synced, rate = await syncing()
    lag = await lagging()
    reindexed, grown = await reindexing()
    return [
        Table(
            "Permission-aware search (top 5 of 2,000 records a source) against the bare index",
            tuple(searches),
            aim="a search that stays below 100 ms where most of the best matches are forbidden.",
            verdict=f"p95 {max(row.measured.p95 for row in searches if '90%' in row.name):.0f} ms at 90% forbidden.",
        ),
        Table(
            "Sync, milliseconds a record, against the bare upsert",
            (synced,),
            aim="a thousand records a second on one worker.",
            verdict=f"{rate:.0f} records a second.",
        ),
        Table("Sync lag under 200 writes a second", (lag,)),
        Table(
            "Reindex, milliseconds a record, against reading the rows alone",
            (reindexed,),
            aim="memory that does not grow with the source.",
            verdict=f"the process grew by {grown:.0f} MB.",
        ),
    ]


if __name__ == "__main__":
    for table in asyncio.run(main()):
        print(table, end="\n\n")
