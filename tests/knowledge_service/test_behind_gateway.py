"""Behind the gateway's tool: the owner alone decides what is heard, and a missing part is told to the model."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from knowledge_service import (
    AdapterSearch,
    ExecutionContext,
    IndexFailed,
    IndexHit,
    KnowledgeService,
    MemoryDataEngine,
    RowPolicy,
    source_from,
)
from knowledge_service.indexes.memory import MemoryIndex

OWNERS = {
    "casey": ExecutionContext(user_id="casey"),
    "sam": ExecutionContext(user_id="sam", roles=frozenset({"support"})),
}


def declared(name: str, adapter: str) -> Any:
    content = {"kind": "object", "object": "article", "contentFields": ["body"]}
    return source_from({"id": name, "label": name.title(), "adapter": adapter, "source": content})


class Away(MemoryIndex):
    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        raise IndexFailed("away", "is down")


@pytest.fixture
async def service() -> KnowledgeService:
    policy = RowPolicy.of({"roles": ["support"]}, {"where": {"status": "published"}})
    engine = MemoryDataEngine({"article": policy})
    engine.put("article", "1", status="published", body="Refunds take five days.")
    engine.put("article", "2", status="draft", body="Large refunds need two signatures.")
    made = KnowledgeService(data_engine=engine, callers=OWNERS.get)
    made.register_adapter("memory", MemoryIndex())
    made.register_source(declared("articles", "memory"))
    await made.reindex_source("articles")
    return made


@pytest.fixture
async def tool(service: KnowledgeService) -> AsyncIterator[KnowledgeTool]:
    async with FrontendKnowledgeRuntime(service) as runtime:
        yield KnowledgeTool(runtime)


async def heard(tool: KnowledgeTool, owner: str, arguments: dict[str, Any]) -> dict[str, Any]:
    outcome = await tool.call(arguments, owner_id=owner)
    answer: dict[str, Any] = json.loads(outcome.output)
    return answer


async def test_the_same_question_is_answered_by_who_asks(tool: KnowledgeTool) -> None:
    """The draft is heard by support alone; an owner that the host does not know hears nothing."""
    said = {owner: json.dumps(await heard(tool, owner, {"query": "refunds"})) for owner in ("casey", "sam", "eve")}
    assert "five days" in said["casey"]
    assert "signatures" not in said["casey"]
    assert "signatures" in said["sam"]
    assert json.loads(said["eve"])["status"] == "no_results"


async def test_a_missing_source_is_told_to_the_model(service: KnowledgeService, tool: KnowledgeTool) -> None:
    """The answer of the others comes with the name of the one that was not searched."""
    service.register_adapter("away", Away())
    service.register_source(declared("manuals", "away"))
    answer = await heard(tool, "casey", {"query": "refunds"})
    assert answer["status"] == "ok"
    assert "manuals" in answer["partial"]


async def test_only_disclosed_sources_can_be_chosen(service: KnowledgeService, tool: KnowledgeTool) -> None:
    """The model picks among the sources that are for everyone."""
    answer = await heard(tool, "casey", {"query": "refunds", "knowledge_base_ids": ["articles"]})
    assert answer["status"] == "ok"
    refused = await heard(tool, "casey", {"query": "refunds", "knowledge_base_ids": ["salaries"]})
    assert refused["status"] == "invalid_request"
