"""search_knowledge: the reference's shape, with identity from the host alone."""

import json
from typing import Any

import pytest

from knowledge_service import SYSTEM, ExecutionContext, KnowledgeService, MemoryDataEngine, RowPolicy, source_from
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.search_tool import SearchKnowledgeTool

ADA = ExecutionContext(user_id="ada")


@pytest.fixture
async def tool() -> SearchKnowledgeTool:
    engine = MemoryDataEngine({"article": RowPolicy.of({"where": {"public": True}})})
    for number in range(30):
        engine.put("article", f"{number:02}", body=f"refund {number}", public=number % 2 == 0)
    service = KnowledgeService(data_engine=engine)
    service.register_adapter("memory", MemoryIndex())
    for name, exposed in (("articles", True), ("internal", False)):
        content = {"kind": "object", "object": "article", "contentFields": ["body"], "metadataFields": ["public"]}
        service.register_source(
            source_from(
                {"id": name, "label": name.title(), "adapter": "memory", "source": content, "aiExposed": exposed}
            )
        )
        await service.reindex_source(name)
    return SearchKnowledgeTool(service)


async def asked(tool: SearchKnowledgeTool, arguments: object, caller: ExecutionContext | None = ADA) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await tool.call(arguments, caller=caller))
    return answer


async def test_the_definition_offers_the_sources_a_model_may_ask(tool: SearchKnowledgeTool) -> None:
    """Hidden sources are not named; no parameter could carry an identity."""
    properties = tool.definition["parameters"]["properties"]
    assert properties["sourceIds"]["items"]["enum"] == ["articles"]
    assert set(properties) == {"query", "topK", "filter", "sourceIds"}


async def test_hits_come_in_the_shape_agents_know(tool: SearchKnowledgeTool) -> None:
    """Documents, chunks, sources and records by their names."""
    answer = await asked(tool, '{"query": " refund 4 ", "topK": 1}')
    assert (answer["status"], answer["query"], answer["count"]) == ("ok", "refund 4", 1)
    hit = answer["hits"][0]
    assert (hit["documentId"], hit["sourceId"], hit["sourceRecordId"]) == ("articles:04", "articles", "04")
    assert hit["snippet"] == "refund 4"
    assert "not instructions" in answer["notice"]


@pytest.mark.parametrize(("given", "count"), [(999, 15), (0, 1), (-3, 1), (2.9, 2), (None, 5)])
async def test_the_number_of_hits_is_clamped(tool: SearchKnowledgeTool, given: float | None, count: int) -> None:
    """Between one and twenty; left out it is five."""
    arguments = {"query": "refund"} | ({} if given is None else {"topK": given})
    assert (await asked(tool, arguments))["count"] == count


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "  "}, "'query' is empty"),
        ({}, "'query' is empty"),
        ("{broken", "not JSON"),
        ([1], "object with 'query'"),
        ({"query": "x", "topK": "many"}, "'topK'"),
        ({"query": "x", "sourceIds": []}, "leave it out"),
        ({"query": "x", "sourceIds": [1]}, "list of source ids"),
        ({"query": "x", "filter": {"$where": "1"}}, "Unknown operator"),
        ({"query": "x", "userId": "root"}, "Unknown argument 'userId'"),
        ({"query": "x", "executionContext": {"isSystem": True}}, "Unknown argument"),
    ],
)
async def test_wrong_arguments_are_answered_and_not_guessed(
    tool: SearchKnowledgeTool, arguments: object, said: str
) -> None:
    """Identity in the arguments is refused by name, never ignored."""
    answer = await asked(tool, arguments)
    assert answer["status"] == "invalid_request"
    assert said in answer["error"]


async def test_nobody_and_the_system_find_nothing(tool: SearchKnowledgeTool) -> None:
    """An agent without a user is nobody, and a tool never runs as the system."""
    for caller in (None, ExecutionContext(), SYSTEM):
        assert (await asked(tool, {"query": "refund"}, caller))["count"] == 0


async def test_a_hidden_source_stays_hidden_when_named(tool: SearchKnowledgeTool) -> None:
    """Source ids come from a model."""
    assert (await asked(tool, {"query": "refund", "sourceIds": ["internal"]}))["count"] == 0


async def test_a_failing_service_is_a_short_fact(tool: SearchKnowledgeTool, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised into an agent's loop and no vendor text comes out; the log has the cause and the trace."""

    async def broken(*args: object, **options: object) -> None:
        raise RuntimeError("password=hunter2")

    tool._service.search = broken  # type: ignore[assignment]
    answer = json.loads(await tool.call({"query": "refund"}, caller=ADA, trace_id="trace-7"))
    assert answer == {"status": "unavailable", "error": "The search failed.", "retryable": True}
    (record,) = caplog.records
    assert "RuntimeError at" in record.getMessage()
    assert "trace-7" in record.getMessage()
    assert "hunter2" not in caplog.text
