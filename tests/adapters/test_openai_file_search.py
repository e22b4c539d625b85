"""`OpenAIFileSearchProvider`: the real SDK against a loopback server with the API's shapes and faults."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio
from aiohttp import web

from adapters.openai_file_search import ERRORS, OpenAIFileSearchProvider, from_config
from knowledge_provider import KnowledgeNotFound, ProviderContractError, RetrievalError, RetrievalTimedOut
from tests.adapters.asking import context_for, everything_about, request_for, subclasses_of
from tests.adapters.http_client import a_hundred_barge_ins, busy_connections
from tests.adapters.loopback import Loopback


def item(file_id: str, text: str, score: Any = 0.5, **attributes: Any) -> dict[str, Any]:
    return {
        "file_id": file_id,
        "filename": f"{file_id}.md",
        "score": score,
        "attributes": attributes,
        "content": [{"type": "text", "text": text}],
    }


def page(*items: Any) -> dict[str, Any]:
    return {"object": "vector_store.search_results.page", "data": list(items), "has_more": True, "next_page": "x"}


@pytest_asyncio.fixture
async def client(service: Loopback) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="sk-s3cret", base_url=f"{service.url}/v1") as made:
        yield made


def provider(client: openai.AsyncOpenAI, stores: Any = ("vs_1",), **options: Any) -> OpenAIFileSearchProvider:
    return OpenAIFileSearchProvider(client, stores, key="files", label="Files", **options)


async def test_a_chunk_becomes_a_result(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """Chunks have no id: the file's id and the text make one that stays the same."""
    first = item("file-1", "Two reviewers.", 0.91, url="https://docs.example.com/r", year=2026.0)
    service.replies(page(first, item("file-1", "On Monday.")))
    files = provider(client, ranker="auto", score_threshold=0.2)
    one, two = await files.retrieve(request_for("policy", top_k=3), context_for())
    assert service.bodies == [
        {
            "query": "policy",
            "max_num_results": 3,
            "rewrite_query": False,
            "ranking_options": {"ranker": "auto", "score_threshold": 0.2},
        }
    ]
    assert service.requests[0].path == "/v1/vector_stores/vs_1/search"
    assert (one.content, one.score, one.source.title) == ("Two reviewers.", 0.91, "file-1.md")
    assert (one.source.id, one.source.uri, one.metadata["year"]) == ("file-1", "https://docs.example.com/r", 2026.0)
    assert one.id != two.id
    again, _ = await files.retrieve(request_for("policy"), context_for())
    assert again.id == one.id


async def test_several_stores_are_searched_at_once_and_merged_by_score(
    service: Loopback, client: openai.AsyncOpenAI
) -> None:
    """Both stores must be asked before either answers; the model sees names, never store ids."""
    together = asyncio.Barrier(2)

    async def answer(request: web.Request, _: Any) -> web.StreamResponse:
        await together.wait()
        score = 0.9 if "vs_2" in request.path else 0.1
        return web.json_response(page(item(request.path.split("/")[3], "text", score)))

    service.answer = answer
    files = provider(client, {"handbook": "vs_1", "travel": "vs_2"})
    async with asyncio.timeout(20):
        found = await files.retrieve(request_for(), context_for())
    assert [result.source.id for result in found] == ["vs_2", "vs_1"]
    assert [base.id for base in files.describe().knowledge_bases or ()] == ["handbook", "travel"]
    assert "vs_" not in files.describe().model_dump_json()


async def test_knowledge_bases_narrow_the_search(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """An id that is not among the host's is not passed on, and none left is not everything."""
    service.replies(page())
    files = provider(client, {"handbook": "vs_1", "travel": "vs_2"})
    await files.retrieve(request_for(knowledge_base_ids=("travel", "vs_1")), context_for())
    assert [request.path.split("/")[3] for request in service.requests] == ["vs_2"]
    for stores in ({"handbook": "vs_1"}, ["vs_1"]):
        with pytest.raises(KnowledgeNotFound):
            await provider(client, stores).retrieve(request_for(knowledge_base_ids=("vs_1",)), context_for())
    assert len(service.requests) == 1


async def test_two_owners_asking_at_once_never_see_each_other(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """Stores and filters are made from each call's own context, a hundred in flight together."""
    together = asyncio.Barrier(100)

    async def answer(request: web.Request, body: Any) -> web.StreamResponse:
        await together.wait()
        owner = request.path.split("/")[3].removeprefix("vs_")
        assert body["filters"] == {"type": "eq", "key": "owner", "value": owner}
        return web.json_response(page(item(owner, owner)))

    service.answer = answer
    files = provider(
        client,
        lambda context: [f"vs_{context.owner_id}"],
        owner_filters=lambda context: {"type": "eq", "key": "owner", "value": context.owner_id},
        timeout_seconds=20.0,
    )
    owners = ["ann", "bob"] * 50
    async with asyncio.timeout(20):
        calls = (files.retrieve(request_for(), context_for(owner, seconds=15)) for owner in owners)
        answers = await asyncio.gather(*calls)
    assert [[result.source.id for result in found] for found in answers] == [[owner] for owner in owners]


async def test_a_requests_filters_are_joined_to_the_owners(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """Both must hold, and neither replaces the other."""
    service.replies(page())
    mine = {"type": "eq", "key": "owner", "value": "ann"}
    asked = {"type": "eq", "key": "owner", "value": "bob"}
    await provider(client, owner_filters=lambda _: mine).retrieve(request_for(filters=asked), context_for())
    assert service.bodies[0]["filters"] == {"type": "and", "filters": [mine, asked]}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "knowledge_invalid_request"),
        (401, "knowledge_unauthorized"),
        (403, "knowledge_forbidden"),
        (404, "knowledge_not_found"),
        (409, "knowledge_invalid_request"),
        (422, "knowledge_invalid_request"),
        (429, "knowledge_rate_limited"),
        (500, "knowledge_unavailable"),
        (503, "knowledge_unavailable"),
    ],
)
async def test_a_refusal_is_typed_after_one_attempt(
    status: int,
    code: str,
    service: Loopback,
    client: openai.AsyncOpenAI,
) -> None:
    """The SDK would try three times and wait for minutes; its message quotes the key."""
    message = {"error": {"message": "Incorrect API key provided: sk-s3cret"}}
    service.replies(message, status, {"Retry-After": "60"})
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalError) as caught:
            await provider(client).retrieve(request_for(), context_for())
    assert caught.value.code == code
    assert len(service.requests) == 1
    assert "s3cret" in repr(caught.value.__cause__)
    assert "s3cret" not in everything_about(caught.value)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("{", "application/json"),
        ("<html>", "text/html"),
        ('{"object": "page"}', "application/json"),
        ("[]", "application/json"),
    ],
)
async def test_a_broken_body_is_a_bad_response(
    body: str,
    content_type: str,
    service: Loopback,
    client: openai.AsyncOpenAI,
) -> None:
    """The SDK lets errors of its own insides escape on these, or passes nothing as a page."""
    service.replies(body, headers={"Content-Type": content_type})
    with pytest.raises(RetrievalError) as caught:
        await provider(client).retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_bad_response"


async def test_servers_with_the_same_api_answer_in_other_shapes(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """Content as plain text, ids and scores missing, numbers not finite."""
    plain = {"file_id": None, "filename": None, "score": None, "attributes": None, "content": "plain text"}
    service.replies(page(plain, item("f", "   "), {**item("g", "x"), "score": "high"}, item("h", "a \ud800 b")))
    found = await provider(client).retrieve(request_for(), context_for())
    assert [(result.content, result.score) for result in found] == [("a ? b", 0.5), ("plain text", None), ("x", None)]
    assert len(found[1].id) == 24


async def test_a_hundred_barge_ins_leave_the_pool_idle(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """The caller is free at once and every connection comes back."""
    files = provider(client, ["vs_1", "vs_2"])
    async with asyncio.timeout(30):
        await a_hundred_barge_ins(files, service, requests_each=2)
        assert busy_connections(client._client) == []
        service.replies(page(item("f", "x")))
        assert await files.retrieve(request_for(), context_for())


async def test_the_deadline_is_for_the_whole_call(service: Loopback, client: openai.AsyncOpenAI) -> None:
    """The SDK's timeouts are per phase, and it would try again."""
    service.hangs()
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalTimedOut):
            await provider(client).retrieve(request_for(), context_for(seconds=0.1))
    assert len(service.requests) == 1


@pytest.mark.parametrize("kind", subclasses_of(openai.OpenAIError), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_is_in_the_table(kind: type[Exception]) -> None:
    """A new direct child of the SDK's base fails here unless it was thought of; its text reaches nothing of ours."""
    from adapters._failures import by_name

    error = kind.__new__(kind)
    Exception.__init__(error, "sk-s3cret")
    ours = by_name(ERRORS)(error, "files")
    assert ours is not None
    assert "s3cret" not in everything_about(ours)
    nearest = next(base.__name__ for base in kind.__mro__ if base.__name__ in ERRORS)
    broad = {"OpenAIError", "APIError"}
    known_broad = {
        "OpenAIError", "APIError", "APIStatusError", "LengthFinishReasonError", "ContentFilterFinishReasonError",
        "WebSocketConnectionClosedError", "WebSocketQueueFullError", "StreamAlreadyConsumed", "APIRemovedInV1",
        "_AmbiguousModuleClientUsageError",
    }  # fmt: skip
    assert nearest not in broad or kind.__name__ in known_broad


@pytest.mark.parametrize(
    ("states", "expected"),
    [(["completed"], "ready"), (["completed", "in_progress"], "degraded"), (["expired", "completed"], "unavailable")],
)
async def test_health_is_that_of_the_worst_store(
    states: list[str], expected: str, service: Loopback, client: openai.AsyncOpenAI
) -> None:
    """A store that is being indexed answers in part; an expired one does not answer."""
    left = iter(states)

    async def answer(_: web.Request, __: Any) -> web.StreamResponse:
        return web.json_response({"id": "vs", "object": "vector_store", "status": next(left)})

    service.answer = answer
    assert (await provider(client, [f"vs_{n}" for n in range(len(states))]).health()).status == expected
    service.replies({"error": {"message": "sk-s3cret"}}, 401)
    health = await provider(client).health()
    assert health.status == "unavailable"
    assert "s3cret" not in health.message


def test_wrong_objects_and_options_fail_at_composition() -> None:
    """A blocking client, or no store at all, is refused while the gateway is composed."""
    asynchronous = openai.AsyncOpenAI(api_key="x")
    with pytest.raises(TypeError, match="not OpenAI"):
        provider(openai.OpenAI(api_key="x"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one text"):
        provider(asynchronous, "vs_1")
    no_ids: list[Any] = [[], {}, [""]]
    for nothing in no_ids:
        with pytest.raises(ValueError, match="no id"):
            provider(asynchronous, nothing)


async def test_a_config_builds_a_client_of_its_own(service: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key comes from the environment; a key in the file is refused by name and not shown."""
    config = {"key": "files", "label": "Files", "vector_stores": {"handbook": "vs_1"}, "base_url": f"{service.url}/v1"}
    monkeypatch.setenv("FILES_KEY", "sk-s3cret")
    with pytest.raises(ProviderContractError, match="'api_key' is not known") as caught:
        from_config({**config, "api_key": "sk-s3cret"})
    assert "s3cret" not in str(caught.value)
    files = from_config({**config, "api_key_env": "FILES_KEY"})
    service.replies(page(item("f", "x")))
    assert await files.retrieve(request_for(), context_for())
    assert service.requests[0].headers["Authorization"] == "Bearer sk-s3cret"
    await files.close()
