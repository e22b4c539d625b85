"""Adapters, sources and single documents of a service."""

import pytest

from knowledge_service import (
    InvalidSource,
    KnowledgeDocument,
    KnowledgeSource,
    SourceVersionConflict,
    UnknownAdapter,
    UnknownSource,
)
from knowledge_service.indexes.memory import MemoryIndex
from tests.knowledge_service.host import Host, declared


async def test_adapters_and_sources_come_and_go_at_run_time(host: Host) -> None:
    """Registered, listed, replaced and removed, with an error that lists what there is."""
    host.service.register_adapter("other", MemoryIndex())
    assert host.service.list_adapters() == ["memory", "other"]
    host.service.unregister_adapter("other")
    with pytest.raises(UnknownAdapter, match="Registered: 'memory'"):
        host.service.adapter("other")
    host.service.register_source(declared("notes"))
    assert [source.id for source in host.service.list_sources()] == ["articles", "notes"]
    await host.service.remove_source("notes")
    with pytest.raises(UnknownSource, match=r"No source 'notes' is registered\. Registered: 'articles'"):
        host.service.source("notes")


async def test_a_changed_declaration_needs_a_higher_version(host: Host) -> None:
    """Two deployments of different age cannot overwrite each other in silence."""
    host.service.register_source(declared())
    with pytest.raises(SourceVersionConflict, match="Raise its version to 2"):
        host.service.register_source(declared(label="Other"))
    host.service.register_source(declared(label="Other", version=2))
    with pytest.raises(InvalidSource, match="Remove the source"):
        host.service.register_source(declared(adapter="elsewhere", version=3))


async def test_a_source_does_not_move_away_from_its_documents(host: Host) -> None:
    """An index that keeps sources in several places names the place; a new one would leave the old one behind."""

    class Placed(MemoryIndex):
        def place_of(self, source: KnowledgeSource) -> str:
            return str(source.adapter_config.get("dataset"))

    host.service.register_adapter("placed", Placed())
    host.service.register_source(declared("notes", adapter="placed", adapterConfig={"dataset": "a", "floor": 1}))
    host.service.register_source(
        declared("notes", adapter="placed", adapterConfig={"dataset": "a", "floor": 2}, version=2)
    )
    with pytest.raises(InvalidSource, match="Remove the source"):
        host.service.register_source(declared("notes", adapter="placed", adapterConfig={"dataset": "b"}, version=3))


async def test_removing_a_source_empties_its_index_first(host: Host) -> None:
    """An index entry must not outlive its source."""
    assert await host.service.remove_source("articles") == 3
    assert await host.index.list_document_ids(declared()) == []


async def test_a_document_goes_where_it_belongs_and_nowhere_else(host: Host) -> None:
    """Indexing by hand checks the ids, so that no document is laundered into another source."""
    good = KnowledgeDocument(id="articles:9", source_id="articles", source_record_id="9", content="refund")
    await host.service.index_document("articles", good)
    for wrong in (
        good.model_copy(update={"source_id": "notes"}),
        good.model_copy(update={"source_record_id": "8"}),
        good.model_copy(update={"source_record_id": None}),
        good.model_copy(update={"id": "notes:9"}),
    ):
        with pytest.raises(InvalidSource, match="does not belong here"):
            await host.service.index_document("articles", wrong)
    with pytest.raises(UnknownSource):
        await host.service.index_document("nowhere", good)
    await host.service.delete_document("articles", "articles:9")
    assert "articles:9" not in await host.index.list_document_ids(declared())
