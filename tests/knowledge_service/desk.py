"""A small system of record with a service over it, for the tests of whoever keeps the two in step."""

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from knowledge_service import KnowledgeService, RowPolicy, ServiceEvent, source_from
from knowledge_service.events import SyncFailed
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.sql.data_engine import SqlDataEngine, SqlObject
from knowledge_service.sql.ledger import SqlLedger
from knowledge_service.sql.outbox import Outbox
from knowledge_service.sql.schema import create_tables
from knowledge_service.sql.triggers import install_triggers
from knowledge_service.sync import SyncSettings, SyncWorker

ARTICLE = sa.Table(
    "article",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("author", sa.String(40), nullable=False, default="ada"),
    sa.Column("status", sa.String(20), nullable=False, default="published"),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, default=1),
)
ARTICLES = source_from(
    {
        "id": "articles",
        "label": "Articles",
        "adapter": "index",
        "source": {
            "kind": "object",
            "object": "article",
            "contentFields": ["body"],
            "metadataFields": ["status"],
            "versionField": "revision",
            "where": {"status": {"$ne": "archived"}},
        },
    }
)
POLICY = RowPolicy.of({"roles": ["agent"]}, {"where": {"status": "published"}}, {"where": {"author": "$user"}})


class Desk:
    """The rows with their triggers, the service, an outbox and a worker; time is set by hand."""

    table = ARTICLE
    source = ARTICLES

    def __init__(self, engine: AsyncEngine) -> None:
        self.now = 1_000_000.0
        self.engine = engine
        self.events: list[ServiceEvent] = []
        self.index = MemoryIndex()
        self.service = KnowledgeService(
            data_engine=SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)}),
            ledger=SqlLedger(engine),
            listeners=[self.events.append],
        )
        self.service.register_adapter("index", self.index)
        self.service.register_source(ARTICLES)
        self.outbox = Outbox(engine, clock=lambda: self.now)
        self.worker = SyncWorker(self.service, self.outbox, SyncSettings(batch=4, attempts=3))

    async def create(self) -> None:
        async with self.engine.begin() as connection:
            await create_tables(connection)
            await connection.run_sync(ARTICLE.metadata.create_all)
            await install_triggers(connection, ARTICLE, version_column="revision")
        # Triggers note changes by the database's clock, which is past this one.
        self.now = time.time() + 1

    async def write(self, *statements: sa.Executable) -> None:
        async with self.engine.begin() as connection:
            for statement in statements:
                await connection.execute(statement)

    async def put(self, record: int, body: str, **values: Any) -> None:
        await self.write(sa.insert(ARTICLE).values(id=record, body=body, **values))

    async def indexed(self) -> list[str]:
        return sorted(await self.index.list_document_ids(ARTICLES))

    def texts(self) -> list[str]:
        """What the index would show."""
        return [passage.text for passage in self.index._sources["articles"].passages.values()]

    def failures(self) -> list[str]:
        """The codes of what sync has told to have failed."""
        return [event.code for event in self.events if isinstance(event, SyncFailed)]
