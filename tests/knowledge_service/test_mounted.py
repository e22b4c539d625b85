"""The service mounted by name: opened when needed, kept in step, closed with the gateway."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from knowledge_provider import KnowledgeRetrievalProvider, ProviderContractError, RetrievalContext, RetrievalRequest
from knowledge_service.configuration import open_service
from knowledge_service.mounted import MountedService, from_config

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples/help_desk"


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLE / "knowledge.yaml", tmp_path)
    with closing(sqlite3.connect(tmp_path / "desk.sqlite")) as database:
        database.executescript((EXAMPLE / "desk.sql").read_text())
    async with open_service(tmp_path / "knowledge.yaml") as opened:
        await opened.service.reindex_source("articles")
    return tmp_path


@pytest.fixture
async def mounted(home: Path) -> AsyncIterator[MountedService]:
    made = from_config({"file": str(home / "knowledge.yaml")})
    yield made
    await made.close()


async def titles(mounted: MountedService, query: str, owner: str) -> set[str]:
    answer: Any = await mounted.retrieve(RetrievalRequest(query=query), RetrievalContext(owner_id=owner))
    return {result.source.title for result in answer["results"]}


async def test_it_is_a_provider_that_describes_itself_without_opening_anything(mounted: MountedService) -> None:
    """Composition touches no database."""
    assert isinstance(mounted, KnowledgeRetrievalProvider)
    assert [base.id for base in mounted.describe().knowledge_bases or ()] == ["articles"]
    assert mounted._opened is None
    assert (await mounted.health()).status == "ready"


async def test_each_owner_reads_what_the_file_says(mounted: MountedService) -> None:
    """Owners that the file does not name read nothing."""
    assert await titles(mounted, "refunds signature", "casey") == {"Refunds"}
    assert await titles(mounted, "refunds signature", "sam") == {"Refunds", "Refunds over 500 euros"}
    assert await titles(mounted, "refunds signature", "stranger") == set()


async def test_changes_arrive_while_it_is_open(mounted: MountedService, home: Path) -> None:
    """Its own worker delivers what other programs write."""
    assert "Parking" not in await titles(mounted, "parking", "casey")
    with closing(sqlite3.connect(home / "desk.sqlite")) as database, database:
        database.execute("insert into kb_article values (9, 'kim', 'published', 'Parking', 'Parking is free.', 1)")
    async with asyncio.timeout(10):
        while "Parking" not in await titles(mounted, "parking", "casey"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def test_a_wrong_config_fails_at_composition(tmp_path: Path) -> None:
    """Not in a turn."""
    for config in ({}, {"file": 3}, {"file": "x", "more": 1}, {"file": str(tmp_path / "missing.yaml")}):
        with pytest.raises(ProviderContractError):
            from_config(config)


def test_a_gateway_finds_it_by_name() -> None:
    """The entry point leads to this factory."""
    (point,) = entry_points(group="earpiece.providers", name="knowledge-service")
    assert point.load() is from_config
