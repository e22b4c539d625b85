"""Both ledgers remember the same, and a reindex that breaks goes on from what they remember."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from knowledge_service import (
    AdapterContext,
    IndexFailed,
    KnowledgeDocument,
    KnowledgeService,
    Ledger,
    MemoryDataEngine,
    MemoryLedger,
    source_from,
)
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.ledger import UNSURE, Checkpoint, Entry
from knowledge_service.sql.database import open_database
from knowledge_service.sql.ledger import SqlLedger
from knowledge_service.sql.schema import create_tables

SOURCE = source_from(
    {
        "id": "s",
        "label": "S",
        "adapter": "memory",
        "source": {"kind": "object", "object": "article", "contentFields": ["body"]},
    }
)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    if request.param == "memory":
        yield MemoryLedger()
        return
    sqlite = f"sqlite:///{tmp_path}/ledger.sqlite"
    engine = open_database(sqlite if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    async with engine.begin() as connection:
        await create_tables(connection)
    yield SqlLedger(engine)
    await engine.dispose()


def document(name: str, *, record: str | None = None, version: int | None = None) -> KnowledgeDocument:
    return KnowledgeDocument(
        id=name, source_id="s", source_record_id=record, content=f"text of {name}", version=version
    )


async def test_a_write_is_intended_and_then_confirmed(ledger: Ledger) -> None:
    """Between the two the ledger names the document and is not sure of it."""
    await ledger.intend("s", [document("a")])
    assert await ledger.entries("s", ["a", "b"]) == {"a": Entry(UNSURE, None)}
    await ledger.confirm("s", [document("a", version=2)])
    assert await ledger.entries("s", ["a"]) == {"a": Entry(document("a").content_hash(), 2)}
    await ledger.intend("s", [document("a", version=3)])
    assert await ledger.entries("s", ["a"]) == {"a": Entry(UNSURE, 2)}
    await ledger.intend("s", [])
    await ledger.confirm("s", [])


async def test_bodies_are_kept_only_where_no_record_stands_behind(ledger: Ledger) -> None:
    """Rows are read where they are; files and pages have no other place to be checked against."""
    await ledger.confirm("s", [document("file"), document("row", record="1")])
    assert await ledger.bodies("s", ["file", "row", "none"]) == {"file": document("file")}
    await ledger.intend("s", [document("file")])
    assert await ledger.bodies("s", ["file"]) == {"file": document("file")}


async def test_sources_are_kept_apart_and_listed_in_pages(ledger: Ledger) -> None:
    """Listing can leave out what a run has seen."""
    await ledger.confirm("s", [document(name) for name in "abcde"])
    await ledger.confirm("t", [document("a")])
    await ledger.mark_seen("s", ["b", "d", "unknown"], "run1")
    assert await ledger.document_ids("s", limit=2) == ["a", "b"]
    assert await ledger.document_ids("s", after="b", limit=2) == ["c", "d"]
    assert await ledger.document_ids("s", not_seen_in="run1") == ["a", "c", "e"]
    await ledger.forget("s", ["a", "e", "unknown"])
    assert (await ledger.count("s"), await ledger.count("t")) == (3, 1)


async def test_a_checkpoint_is_kept_replaced_and_dropped(ledger: Ledger) -> None:
    """One for each source."""
    first, second = Checkpoint("r", 1, "key", {"added": 2}), Checkpoint("r", 1, "later", {"added": 3})
    assert await ledger.checkpoint("s") is None
    await ledger.save_checkpoint("s", first)
    await ledger.save_checkpoint("s", second)
    assert await ledger.checkpoint("s") == second
    await ledger.save_checkpoint("s", None)
    assert await ledger.checkpoint("s") is None


class Breaking(MemoryIndex):
    """Fails at the second write, once."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        self.writes.append(len(documents))
        if len(self.writes) == 2:
            raise IndexFailed("memory", "is away")
        await super().upsert(documents, context)


def host(ledger: Ledger, index: Any, rows: int) -> KnowledgeService:
    engine = MemoryDataEngine()
    for number in range(rows):
        engine.put("article", f"{number:04}", body=f"refund {number}")
    service = KnowledgeService(data_engine=engine, ledger=ledger)
    service.register_adapter("memory", index)
    service.register_source(SOURCE)
    return service


async def test_a_reindex_that_broke_goes_on_with_the_page_it_broke_at(ledger: Ledger) -> None:
    """Also in another process: all it needs is the ledger."""
    index = Breaking()
    with pytest.raises(IndexFailed):
        await host(ledger, index, 1200).reindex_source("s")
    done = await host(ledger, index, 1200).reindex_source("s")
    assert index.writes == [500, 500, 500, 200]
    assert (done.discovered, done.complete, done.removed) == (1200, True, 0)
    assert len(await index.list_document_ids(SOURCE, limit=5000)) == 1200


async def test_what_an_index_has_lost_is_written_again(ledger: Ledger) -> None:
    """A ledger that believes more than the index holds would call it unchanged for ever."""
    await host(ledger, MemoryIndex(), 3).reindex_source("s")
    emptied = MemoryIndex()
    service = host(ledger, emptied, 3)
    assert (await service.reindex_source("s", dry_run=True)).added == 3
    done = await service.reindex_source("s")
    assert (done.added, done.unchanged) == (3, 0)
    assert len(await emptied.list_document_ids(SOURCE)) == 3


async def test_text_that_databases_dislike_is_kept_or_cleaned(ledger: Ledger) -> None:
    """Quotes, signs and long texts of files."""
    odd = document("it's \\ 100%").model_copy(update={"content": "x" * 100_000 + " ' \" \\ \u2028 😀"})
    await ledger.confirm("s", [odd])
    assert (await ledger.bodies("s", [odd.id]))[odd.id].content == odd.content


async def test_the_ledger_of_a_missing_table_fails_loudly(tmp_path: Path) -> None:
    """Forgetting to create the tables is not an empty ledger."""
    engine = open_database(f"sqlite:///{tmp_path}/none.sqlite")
    with pytest.raises(sa.exc.OperationalError):
        await SqlLedger(engine).count("s")
    await engine.dispose()


def test_other_databases_are_refused() -> None:
    """Only what is tested is offered."""
    with pytest.raises(ValueError, match="not on 'mysql'"):
        open_database("mysql://host/db")
