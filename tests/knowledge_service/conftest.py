"""Databases for the tests of the knowledge service: SQLite files, and databases on a real PostgreSQL."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from knowledge_service.sql.database import open_database
from tests.knowledge_service.desk import Desk
from tests.knowledge_service.failing_index import FailingIndex
from tests.knowledge_service.host import Host, StuckIndex, declared
from tests.knowledge_service.postgres_server import CannotStart, shared_server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL with pgvector. In CI it must start; elsewhere its tests are skipped with the reason."""
    base = tmp_path_factory.getbasetemp()
    state = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres.json"
    try:
        with shared_server(state) as url:
            yield url
    except CannotStart as error:
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


@pytest.fixture
async def desk(database: AsyncEngine) -> Desk:
    made = Desk(database)
    await made.create()
    return made


@pytest.fixture
def failing(desk: Desk) -> FailingIndex:
    """The desk's index, and one that can fail."""
    index = FailingIndex()
    desk.index = index
    desk.service.register_adapter("index", index)
    return index


@pytest.fixture
async def host() -> Host:
    """A service over three articles, indexed."""
    made = Host()
    made.service.register_source(declared())
    made.rows(3)
    await made.service.reindex_source("articles")
    return made


@pytest.fixture
async def stuck() -> AsyncIterator[StuckIndex]:
    index = StuckIndex()
    yield index
    index.released.set()
