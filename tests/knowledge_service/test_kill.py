"""A process that writes and syncs is killed at random moments, many times over: nothing is lost and nothing doubled."""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from knowledge_service.indexes.ragflow_names import our_name
from knowledge_service.sql.database import open_database
from tests.knowledge_service.ragflow_server import RagflowServer

pytestmark = pytest.mark.slow

KILLS = {"postgresql": 60, "ragflow": 25}
NURSERY = Path(__file__).with_name("crash_nursery.py")
ROOT = NURSERY.parent.parent.parent


class Nursery:
    """Starts one process after the other; each ends by itself or by a kill."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def start(self, task: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task).encode() + b"\n")
        pid = int(await self._line())
        assert await self._line() == "alive"
        return pid

    async def ended(self) -> int:
        return int(await self._line())

    async def _line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(30):
            return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def nursery() -> AsyncIterator[Nursery]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, NURSERY, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield Nursery(process)
    finally:
        process.kill()
        await process.wait()


async def killed_again_and_again(database: str, index: str, kills: int) -> int:
    """Kill ``kills`` processes, then let one finish; returns how many died with a batch in their hands."""
    engine = open_database(database)
    chance = random.Random(8)  # noqa: S311
    in_work = 0
    async with nursery() as processes:
        for generation in range(kills):
            pid = await processes.start(
                {"database": database, "index": index, "generation": generation, "writes": True}
            )
            # Not a wait for anything: the moment of the kill is the experiment.
            await asyncio.sleep(chance.uniform(0.0, 0.12))
            os.kill(pid, signal.SIGKILL)
            assert await processes.ended() == -signal.SIGKILL
            async with engine.connect() as connection:
                leased = sa.text("select count(*) from knowledge_outbox where leased_until > 0")
                in_work += bool((await connection.execute(leased)).scalar_one())
        await processes.start({"database": database, "index": index, "generation": kills, "writes": False})
        assert await processes.ended() == 0
    await engine.dispose()
    return in_work


async def rows_and_rest(database: str) -> tuple[dict[str, str], set[str], int]:
    """What should be indexed, what the ledger says is indexed, and how many changes still wait or are dead."""
    engine = open_database(database)
    async with engine.connect() as connection:
        rows = await connection.execute(sa.text("select id, body from note where not hidden"))
        expected = {f"notes:{row[0]}": row[1] for row in rows}
        ledger = await connection.execute(
            sa.text("select document_id from knowledge_documents where content_hash <> ''")
        )
        listed = {row[0] for row in ledger}
        rest = (await connection.execute(sa.text("select count(*) from knowledge_outbox"))).scalar_one()
    await engine.dispose()
    return expected, listed, rest


async def test_kills_lose_and_double_nothing_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """After every kill -9 the next process goes on; in the end the index equals the rows, document by document."""
    database = f"sqlite:///{tmp_path}/rows.sqlite"
    assert await killed_again_and_again(database, postgres_url, KILLS["postgresql"]) >= 15
    expected, listed, rest = await rows_and_rest(database)
    index = open_database(postgres_url)
    async with index.connect() as connection:
        rows = (await connection.execute(sa.text("select document_id, content from knowledge_chunks"))).all()
    await index.dispose()
    assert rest == 0
    assert sorted((row.document_id, row.content) for row in rows) == sorted(expected.items())
    assert listed == set(expected)
    assert len(expected) >= 5


async def test_kills_lose_and_double_nothing_in_ragflow(tmp_path: Path) -> None:
    """The same over several HTTP calls a document, where a kill leaves half-written documents behind."""
    database = f"sqlite:///{tmp_path}/rows.sqlite"
    server = RagflowServer(polls_to_parse=1)
    await server.start()
    assert await killed_again_and_again(database, server.url, KILLS["ragflow"]) >= 6
    expected, listed, rest = await rows_and_rest(database)
    files = list(server.files("notes").values())
    await server.stop()
    held = sorted(
        (name.document_id, file.chunks[0].split("\n\n")[-1]) for file in files if (name := our_name(file.name))
    )
    assert rest == 0
    assert held == sorted(expected.items())
    assert listed == set(expected)
