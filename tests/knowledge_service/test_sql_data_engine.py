"""The caller's identity reaches the database, and a database that would not hold callers apart is refused."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from knowledge_service import SYSTEM, DataEngineFailed, DataEngineUnsafe, ExecutionContext, RecordQuery, RowPolicy
from knowledge_service.data_engine import MemoryDataEngine
from knowledge_service.sql.data_engine import SqlDataEngine, SqlObject
from knowledge_service.sql.database import open_database

ARTICLE = sa.Table(
    "article",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("author", sa.String(40)),
    sa.Column("tenant", sa.String(40)),
    sa.Column("status", sa.String(20)),
)
ROWS = [
    {"id": 1, "author": "ada", "tenant": "t1", "status": "published"},
    {"id": 2, "author": "ada", "tenant": "t1", "status": "draft"},
    {"id": 3, "author": "bob", "tenant": "t2", "status": "draft"},
    {"id": 4, "author": "bob", "tenant": "", "status": "draft"},
]
POLICY = RowPolicy.of(
    {"where": {"status": "published"}},
    {"where": {"author": "$user"}},
    {"where": {"tenant": "$tenant"}},
    {"roles": ["agent", "chief"]},
)
CALLERS = {
    "ada": (ExecutionContext(user_id="ada"), [1, 2]),
    "bob": (ExecutionContext(user_id="bob", tenant_id="t1"), [1, 2, 3, 4]),
    "eve": (ExecutionContext(user_id="eve"), [1]),
    "an agent": (ExecutionContext(user_id="eve", roles=frozenset({"agent"})), [1, 2, 3, 4]),
    "nobody": (ExecutionContext(roles=frozenset({"agent"})), []),
    "the system": (SYSTEM, [1, 2, 3, 4]),
    "a user called system": (ExecutionContext(user_id="system"), [1]),
    "an injection": (ExecutionContext(user_id="ada' or '1'='1"), [1]),
}


@pytest.fixture
async def engine(database: AsyncEngine) -> AsyncEngine:
    async with database.begin() as connection:
        await connection.run_sync(ARTICLE.metadata.create_all)
        await connection.execute(sa.insert(ARTICLE), ROWS)
    return database


async def read(engine: Any, caller: ExecutionContext, **query: Any) -> list[int]:
    asked = RecordQuery(object="article", fields=("status",), **query)
    return [int(record.id) for record in await engine.find(asked, caller)]


@pytest.mark.parametrize("name", CALLERS)
async def test_every_caller_reads_their_own_rows(engine: AsyncEngine, name: str) -> None:
    """The policy is part of every statement, on both databases, and in memory it means the same."""
    caller, expected = CALLERS[name]
    assert await read(SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)}), caller) == expected
    memory = MemoryDataEngine({"article": POLICY})
    for row in ROWS:
        memory.put("article", str(row["id"]), **{key: value for key, value in row.items() if key != "id"})
    assert await read(memory, caller) == expected


async def test_an_object_without_a_policy_is_read_by_nobody_but_the_system(engine: AsyncEngine) -> None:
    """Forgetting the policy closes, it does not open."""
    held = SqlDataEngine(engine, {"article": SqlObject(ARTICLE)})
    assert await read(held, CALLERS["an agent"][0]) == []
    assert len(await read(held, SYSTEM)) == 4


@pytest.mark.parametrize(
    "forged", ["02", "2.0", " 2", "+2", "２", "2 or 1=1", "", "two", "2\0", str(2**31), str(-(2**63) - 1), "2" * 400]
)
async def test_an_id_counts_only_as_the_database_writes_it(engine: AsyncEngine, forged: str) -> None:
    """Other spellings of a key name no row."""
    held = SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)})
    assert await read(held, SYSTEM, ids=(forged,)) == []
    assert await read(held, SYSTEM, ids=("2", forged)) == [2]


async def test_rows_come_in_pages(engine: AsyncEngine) -> None:
    """A page continues after the last id of the one before, under the same policy."""
    held = SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)})
    agent = CALLERS["an agent"][0]
    assert await read(held, agent, limit=2) == [1, 2]
    assert await read(held, agent, limit=2, after="2") == [3, 4]
    assert await read(held, agent, where={"status": "draft"}, after="2") == [3, 4]


async def test_a_database_that_fails_says_nothing_of_itself(engine: AsyncEngine) -> None:
    """The vendor's words stay in the cause."""
    held = SqlDataEngine(engine, {"article": SqlObject(ARTICLE, POLICY)})
    async with engine.begin() as connection:
        await connection.execute(sa.text("drop table article"))
    with pytest.raises(DataEngineFailed) as failed:
        await read(held, SYSTEM)
    assert str(failed.value) == "Object 'article' cannot be read in the system of record."
    assert failed.value.__cause__ is not None
    with pytest.raises(DataEngineFailed, match="is not declared"):
        await held.find(RecordQuery(object="users", fields=()), SYSTEM)
    with pytest.raises(DataEngineFailed):
        await held.find(RecordQuery(object="article", fields=("password",)), SYSTEM)


ROW_LEVEL_SECURITY = """
create role {role} login;
grant select on article to {role};
alter table article enable row level security;
create policy readable on article for select using (
    current_setting('app.system', true) = 'on'
    or (nullif(current_setting('app.user_id', true), '') is not null
        and (author = current_setting('app.user_id', true)
             or 'agent' = any(string_to_array(current_setting('app.roles', true), ',')))))
"""


@pytest.fixture
async def secured(postgres_url: str) -> AsyncIterator[tuple[AsyncEngine, AsyncEngine]]:
    """Rows behind the database's own policies: the owner's engine, and one for the role of callers."""
    role = "caller_" + postgres_url.rpartition("_")[2]
    owner = open_database(postgres_url)
    async with owner.begin() as connection:
        await connection.run_sync(ARTICLE.metadata.create_all)
        await connection.execute(sa.insert(ARTICLE), ROWS)
        for statement in ROW_LEVEL_SECURITY.format(role=role).split(";"):
            await connection.execute(sa.text(statement))
    caller = open_database(postgres_url.replace("//postgres@", f"//{role}@"))
    yield owner, caller
    await caller.dispose()
    async with owner.begin() as connection:
        await connection.execute(sa.text(f"drop owned by {role}"))
        await connection.execute(sa.text(f"drop role {role}"))
    await owner.dispose()


EVERYTHING = RowPolicy.of({"where": {}})


async def test_row_level_security_holds_when_the_service_would_not(secured: tuple[AsyncEngine, AsyncEngine]) -> None:
    """Two walls: with a policy here that allows all, the database still shows each caller their own rows."""
    held = SqlDataEngine(secured[1], {"article": SqlObject(ARTICLE, EVERYTHING)}, row_level_security=True)
    await held.verify()
    assert await read(held, ExecutionContext(user_id="ada")) == [1, 2]
    assert await read(held, ExecutionContext(user_id="bob")) == [3, 4]
    assert await read(held, ExecutionContext(user_id="eve", roles=frozenset({"agent"}))) == [1, 2, 3, 4]
    assert await read(held, ExecutionContext(user_id="eve", roles=frozenset({"x,agent"}))) == []
    assert await read(held, SYSTEM) == [1, 2, 3, 4]


async def test_identity_does_not_stay_on_a_pooled_connection(secured: tuple[AsyncEngine, AsyncEngine]) -> None:
    """The settings end with their transaction, so the next user of the connection is nobody."""
    held = SqlDataEngine(secured[1], {"article": SqlObject(ARTICLE, EVERYTHING)}, row_level_security=True)
    assert len(await read(held, SYSTEM)) == 4
    async with secured[1].connect() as connection:
        assert (await connection.execute(sa.select(ARTICLE.c.id))).all() == []


async def test_a_database_that_would_not_hold_callers_apart_is_refused(
    secured: tuple[AsyncEngine, AsyncEngine],
) -> None:
    """A superuser, a table without policies, and SQLite are told at start-up, with the remedy."""
    objects = {"article": SqlObject(ARTICLE, EVERYTHING)}
    with pytest.raises(DataEngineUnsafe, match="without SUPERUSER and BYPASSRLS"):
        await SqlDataEngine(secured[0], objects, row_level_security=True).verify()
    async with secured[0].begin() as connection:
        await connection.execute(sa.text("alter table article disable row level security"))
    with pytest.raises(DataEngineUnsafe, match="has no row level security"):
        await SqlDataEngine(secured[1], objects, row_level_security=True).verify()
    sqlite = open_database("sqlite://")
    with pytest.raises(DataEngineUnsafe, match="needs PostgreSQL"):
        await SqlDataEngine(sqlite, objects, row_level_security=True).verify()
    await sqlite.dispose()


async def test_a_system_connection_of_its_own_serves_the_indexing(secured: tuple[AsyncEngine, AsyncEngine]) -> None:
    """Callers and the service need not share a database role."""
    held = SqlDataEngine(secured[1], {"article": SqlObject(ARTICLE, EVERYTHING)}, system_engine=secured[0])
    assert len(await read(held, SYSTEM)) == 4
