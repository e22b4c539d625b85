"""Databases for the tests of the knowledge service: SQLite files, and databases on a real PostgreSQL."""

import asyncio
import importlib.util
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from knowledge_service import KnowledgeService, RowPolicy, ServiceEvent, source_from
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


def _neighbour(name: str) -> ModuleType:
    """A module beside this file; test folders are no packages."""
    spec = importlib.util.spec_from_file_location(
        f"knowledge_service_tests_{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL with pgvector. In CI it must start; elsewhere its tests are skipped with the reason."""
    server = _neighbour("postgres_server")
    base = tmp_path_factory.getbasetemp()
    state = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres.json"
    try:
        with server.shared_server(state) as url:
            yield url
    except server.CannotStart as error:
        if os.environ.get("CI"):
            pytest.fail(f"PostgreSQL must run in CI: {error}")
        pytest.skip(f"no PostgreSQL here: {error}")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of its own on the server, gone after the test."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    _administer(postgres_server, f"create database {name}")
    yield f"{postgres_server}/{name}"
    _administer(postgres_server, f"drop database {name} with (force)")


def _administer(server: str, statement: str) -> None:
    async def run() -> None:
        admin = open_database(f"{server}/postgres").execution_options(isolation_level="AUTOCOMMIT")
        async with admin.connect() as connection:
            await connection.execute(sa.text(statement))
        await admin.dispose()

    # In a thread, because a fixture may be asked for by one whose event loop already runs.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, run()).result(timeout=60)


@pytest.fixture
def ragflow_server() -> type[Any]:
    """The class of RAGFlow's double on loopback: ``RagflowServer(version=...)``, then ``start()`` and ``stop()``."""
    made: type[Any] = _neighbour("ragflow_server").RagflowServer
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """An empty database, once of each kind."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/service.sqlite"
    else:
        url = request.getfixturevalue("postgres_url")
    engine = open_database(url)
    yield engine
    await engine.dispose()


class Desk:
    """A small system of record with its triggers, a service over it, an outbox and a worker; time is set by hand."""

    table = ARTICLE
    source = ARTICLES

    def __init__(self, engine: AsyncEngine) -> None:
        self.now = 1_000_000.0
        self.engine = engine
        self.events: list[ServiceEvent] = []
        self.index: Any = MemoryIndex()
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


@pytest.fixture
async def desk(database: AsyncEngine) -> Desk:
    made = Desk(database)
    await made.create()
    return made
