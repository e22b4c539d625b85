"""A reindex makes an index say what the rows say, page by page."""

import pytest

from knowledge_service import AdapterContext, KnowledgeDocument, KnowledgeService, SourceNotReadable
from knowledge_service.indexes.memory import MemoryIndex
from tests.knowledge_service.host import Host, declared


async def test_a_dry_run_says_what_a_run_would_do_and_does_nothing(host: Host) -> None:
    """Added, changed and removed are told apart by content hash."""
    host.engine.put("article", "0000", body="changed", public=True)
    del host.engine.rows["article"]["0001"]
    host.rows(1, start=7)
    dry = await host.service.reindex_source("articles", dry_run=True)
    assert (dry.added, dry.changed, dry.unchanged, dry.removed, dry.dry_run) == (1, 1, 1, 1, True)
    assert len(await host.index.list_document_ids(declared())) == 3
    done = await host.service.reindex_source("articles")
    assert (done.added, done.changed, done.unchanged, done.removed) == (1, 1, 1, 1)
    assert await host.index.list_document_ids(declared()) == ["articles:0000", "articles:0002", "articles:0007"]


async def test_a_run_goes_on_where_it_stopped(host: Host) -> None:
    """A limited or broken run removes nothing; the next ones finish it, and only then is pruned."""
    del host.engine.rows["article"]["0001"]
    host.rows(5, start=10)
    first = await host.service.reindex_source("articles", limit=3)
    assert (first.discovered, first.complete, first.removed) == (3, False, 0)
    rest = await host.service.reindex_source("articles")
    assert (rest.discovered, rest.complete, rest.removed) == (7, True, 1)
    again = await host.service.reindex_source("articles")
    assert (again.discovered, again.unchanged, again.complete) == (7, 7, True)


async def test_progress_is_reported_page_by_page() -> None:
    """A long run can be watched, and reads no more than a page at a time."""
    host = Host()
    host.service.register_source(declared())
    host.rows(1200)
    seen: list[int] = []
    await host.service.reindex_source("articles", report=lambda progress: seen.append(progress.discovered))
    assert seen == [500, 1000, 1200, 1200]


async def test_a_stray_document_of_the_index_is_pruned(host: Host) -> None:
    """What the index holds and nobody knows (a restored backup, a lost ledger) does not stay."""
    stray = KnowledgeDocument(id="articles:stray", source_id="articles", source_record_id="stray", content="refund")
    await host.index.upsert([stray], AdapterContext(source=declared(), reason="test"))
    assert (await host.service.reindex_source("articles", dry_run=True)).removed == 1
    assert (await host.service.reindex_source("articles")).removed == 1


async def test_a_document_written_behind_the_readers_back_is_not_pruned() -> None:
    """A row that appears before the reader's place, and that sync has indexed, is no stray."""
    host = Host()
    host.service.register_source(declared())
    host.rows(3, start=5)

    await host.service.reindex_source("articles", limit=2)
    host.rows(1)
    new = KnowledgeDocument(id="articles:0000", source_id="articles", source_record_id="0000", content="refund 0")
    await host.service.index_document("articles", new)
    done = await host.service.reindex_source("articles")
    assert (done.complete, done.removed) == (True, 0)
    assert "articles:0000" in await host.index.list_document_ids(declared())


async def test_a_source_that_nothing_can_read_says_so() -> None:
    """A missing data engine or reader is named."""
    service = KnowledgeService()
    service.register_adapter("memory", MemoryIndex())
    service.register_source(declared())
    service.register_source(declared("files", source={"kind": "file", "prefix": ""}))
    with pytest.raises(SourceNotReadable, match="no data engine"):
        await service.reindex_source("articles")
    with pytest.raises(SourceNotReadable, match="no reader for kind 'file'"):
        await service.reindex_source("files")
