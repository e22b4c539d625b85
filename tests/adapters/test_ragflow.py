"""`RAGFlowProvider` against a loopback server that behaves as RAGFlow 0.20 to 0.27 do, quirks included."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from adapters._conditions import holds, joined_conditions
from adapters.ragflow import CODES, RAGFlowProvider, from_config
from knowledge_provider import KnowledgeNotFound, ProviderContractError, RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, everything_about, request_for
from tests.adapters.http_client import a_hundred_barge_ins, busy_connections, closed_later
from tests.adapters.loopback import Loopback

pytestmark = pytest.mark.usefixtures("closed_afterwards")

KEY = "ragflow-s3cret"
VERSIONS = [(0, 20), (0, 22), (0, 23), (0, 24), (0, 25), (0, 26), (0, 27)]
DOCUMENTS = [
    {"document_id": number, "dataset_id": dataset, "name": name, "text": text, "team": team_name, "page": page}
    for number, dataset, name, text, team_name, page in (
        ("d1", "ds-ann", "releases.pdf", "Two reviewers.", "ann", 3),
        ("d2", "ds-bob", "travel.md", "By the office.", "bob", 0),
        ("d3", "ds-all", "all.md", "For everybody.", "ann", 0),
        ("d4", "ds-all", "bob.md", "For Bob.", "bob", 0),
    )
]


def ragflow(version: tuple[int, int]) -> Callable[[web.Request, Any], Awaitable[web.StreamResponse]]:
    """A handler with the envelope, the names and the faults of this version."""

    def refusal(code: int, message: str, status: int = 200) -> web.StreamResponse:
        return web.json_response({"code": code, "data": False, "message": message}, status=status)

    def selected(body: dict[str, Any]) -> list[dict[str, Any]]:
        found = [document for document in DOCUMENTS if document["dataset_id"] in body["dataset_ids"]]
        if "metadata_condition" not in body:
            return found
        conditions = body["metadata_condition"].get("conditions") or []
        if not conditions:
            return found if version <= (0, 22) else []
        kept = [d for d in found if all(d.get(c["name"]) == c["value"] for c in conditions)]
        return kept or (found if version <= (0, 22) else [])

    def chunk(document: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        made = {
            "id": f"c-{document['document_id']}",
            "content": document["text"],
            "document_id": document["document_id"],
            "document_keyword": document["name"],
            "dataset_id": document["dataset_id"],
            "similarity": 0.61,
            "vector_similarity": 0.5,
            "term_similarity": 0.7,
            "positions": [[document["page"], 1, 2, 3, 4]] if document["page"] else [],
            "image_id": "",
        }
        if version >= (0, 25) and body.get("include_metadata"):
            made["document_metadata"] = {"team": document["team"]}
        return made

    async def answer(request: web.Request, body: Any) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.json_response({"code": 0, "data": False, "message": "`Authorization` can't be empty"})
        if request.headers["Authorization"] != f"Bearer {KEY}":
            message = f"Authentication error: API key {KEY} is invalid!"
            if version <= (0, 24):
                return refusal(109, message)
            return refusal(109 if version == (0, 25) else 401, message, 401)
        if request.method == "GET":
            return web.json_response({"code": 0, "data": []})
        if version >= (0, 26) and body["page"] * body["page_size"] > 64:
            return refusal(101, "page * page_size is too large")
        if "ds-foreign" in body["dataset_ids"]:
            return refusal(102, "You don't own the dataset ds-foreign.")
        found = [chunk(document, body) for document in selected(body)][: body["page_size"]]
        if body["page_size"] == 1:
            found = []
        data = {"chunks": found, "total": 99, "doc_aggs": [] if found else {}}
        return web.json_response({"code": 0, "data": data})

    return answer


def provider(service: Loopback, datasets: Any = ("ds-ann", "ds-all"), **options: Any) -> RAGFlowProvider:
    key = options.pop("api_key", KEY)
    return closed_later(RAGFlowProvider(f"{service.url}/", key, datasets, key="ragflow", label="RAGFlow", **options))


def team(name: str) -> dict[str, Any]:
    return {"logic": "and", "conditions": [{"name": "team", "comparison_operator": "is", "value": name}]}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_chunk_becomes_a_result(version: tuple[int, int], service: Loopback) -> None:
    """Every version's answer gives content, similarity, document and page; the request costs no model call."""
    service.answer = ragflow(version)
    asked = provider(service)
    first, *_ = await asked.retrieve(request_for("policy", top_k=3), context_for())
    body = service.bodies[0]
    assert (first.id, first.content, first.score) == ("c-d1", "Two reviewers.", 0.61)
    assert (first.source.id, first.source.title, first.source.locator) == ("d1", "releases.pdf", "page=3")
    assert first.metadata["dataset_id"] == "ds-ann"
    assert (body["page_size"], body["top_k"], body["keyword"]) == (3, 1024, False)
    assert "metadata_condition" not in body


@pytest.mark.parametrize("version", VERSIONS)
async def test_one_result_is_asked_for_as_two(version: tuple[int, int], service: Loopback) -> None:
    """A page of one came back empty; a page stays small enough for the versions that bound it."""
    service.answer = ragflow(version)
    for count in (1, 8):
        found = await provider(service).retrieve(request_for(top_k=count), context_for())
        assert len(found) == min(count, 3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_two_owners_asking_at_once_never_see_each_other(version: tuple[int, int], service: Loopback) -> None:
    """Datasets are chosen by who asks, with a hundred calls in flight together."""
    inner, together = ragflow(version), asyncio.Barrier(100)

    async def answer(request: web.Request, body: Any) -> web.StreamResponse:
        await together.wait()
        return await inner(request, body)

    service.answer = answer
    asked = provider(service, lambda context: [f"ds-{context.owner_id}"], timeout_seconds=20.0)
    owners = ["ann", "bob"] * 50
    async with asyncio.timeout(20):
        calls = (asked.retrieve(request_for(), context_for(owner, seconds=15)) for owner in owners)
        answers = await asyncio.gather(*calls)
    assert [[r.metadata["dataset_id"] for r in found] for found in answers] == [[f"ds-{owner}"] for owner in owners]


@pytest.mark.parametrize("version", VERSIONS)
async def test_owner_filters_hold_or_are_refused_and_never_widen(version: tuple[int, int], service: Loopback) -> None:
    """A filter without a match returned everything up to 0.22; what cannot be checked again is not passed on."""
    service.answer = ragflow(version)
    asked = provider(service, ["ds-all"], owner_filters=lambda context: team(context.owner_id))
    if version < (0, 25):
        for owner in ("ann", "carol") if version <= (0, 22) else ("ann",):
            with pytest.raises(UnsupportedFilters):
                await asked.retrieve(request_for(), context_for(owner))
    else:
        assert [r.source.id for r in await asked.retrieve(request_for(), context_for("ann"))] == ["d3"]
        assert [r.source.id for r in await asked.retrieve(request_for(), context_for("bob"))] == ["d4"]
        assert await asked.retrieve(request_for(filters=team("bob")), context_for("ann")) == []
    if version >= (0, 23):
        assert await asked.retrieve(request_for(), context_for("carol")) == []


async def test_a_flat_filter_is_refused(service: Loopback) -> None:
    """RAGFlow would ignore it, or find nothing, depending on its version."""
    service.answer = ragflow((0, 27))
    malformed: list[Any] = [{"team": "ann"}, {"conditions": []}, {"conditions": [{"name": "team"}]}, {"conditions": {}}]
    for wrong in malformed:
        with pytest.raises(UnsupportedFilters):
            await provider(service).retrieve(request_for(filters=wrong), context_for())
    assert service.requests == []


async def test_chunks_of_a_dataset_that_was_not_asked_for_are_dropped(service: Loopback) -> None:
    """The server's word is not taken for where a chunk comes from."""
    chunks = [
        {"id": "1", "content": "a", "dataset_id": "ds-bob"},
        {"id": "2", "content": "b"},
        {"content": "c", "dataset_id": "ds-ann", "document_id": "d", "similarity": float("inf"), "positions": "x"},
        "odd",
    ]
    service.replies({"code": 0, "data": {"chunks": chunks, "doc_aggs": {}}})
    (result,) = await provider(service).retrieve(request_for(), context_for())
    assert (result.content, result.score, len(result.id)) == ("c", None, 24)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_wrong_key_is_unauthorized_in_every_version(version: tuple[int, int], service: Loopback) -> None:
    """Said with HTTP 200 and 109, with 401 and 109, or with 401 and 401; the message quotes the key."""
    service.answer = ragflow(version)
    asked = provider(service, api_key="wrong")
    with pytest.raises(RetrievalError) as caught:
        await asked.retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_unauthorized"
    assert "s3cret" not in everything_about(caught.value)
    health = await asked.health()
    assert (health.status, "s3cret" in health.message) == ("unavailable", False)
    assert (await provider(service).health()).status == "ready"


@pytest.mark.parametrize("code", [*CODES, 777])
async def test_every_code_is_one_of_ours(code: int, service: Loopback) -> None:
    """Failures mostly arrive with HTTP 200; the text beside the code is never passed on."""
    service.replies({"code": code, "data": False, "message": "password=hunter2"})
    with pytest.raises(RetrievalError) as caught:
        await provider(service).retrieve(request_for(), context_for())
    expected = type(CODES[code]("ragflow")) if code in CODES else RetrievalError
    assert type(caught.value) is expected
    assert "hunter2" not in everything_about(caught.value)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"code": 0, "data": False}, "knowledge_unauthorized"),
        ({"code": 0, "data": []}, "knowledge_bad_response"),
        ({"code": 0, "data": {"chunks": None}}, "knowledge_bad_response"),
        ({"data": {"chunks": []}}, "knowledge_bad_response"),
        ([], "knowledge_bad_response"),
        ("<!doctype html>", "knowledge_bad_response"),
        ({"code": 102, "message": "You don't own the dataset x."}, "knowledge_forbidden"),
    ],
)
async def test_a_success_that_is_none_is_an_error(answer: Any, code: str, service: Loopback) -> None:
    """`data: false` with code 0 is a missing key, a web page is a wrong path; neither is an empty result."""
    service.replies(answer)
    with pytest.raises(RetrievalError) as caught:
        await provider(service).retrieve(request_for(), context_for())
    assert caught.value.code == code


async def test_nothing_found_is_not_an_error(service: Loopback) -> None:
    """Some versions say it with the code of an error."""
    for empty in (
        {"code": 102, "data": False, "message": "No chunk found! Check the chunk status please!"},
        {"code": 0, "data": {"chunks": [], "doc_aggs": {}, "total": 0}},
    ):
        service.replies(empty)
        assert await provider(service).retrieve(request_for(), context_for()) == []


async def test_knowledge_bases_narrow_the_search(service: Loopback) -> None:
    """The model chooses among names; ids stay here, and none left is not everything."""
    service.answer = ragflow((0, 27))
    asked = provider(service, {"handbook": "ds-ann", "all": "ds-all"})
    await asked.retrieve(request_for(knowledge_base_ids=("all",)), context_for())
    assert service.bodies[0]["dataset_ids"] == ["ds-all"]
    with pytest.raises(KnowledgeNotFound):
        await asked.retrieve(request_for(knowledge_base_ids=("ds-bob",)), context_for())
    assert "ds-" not in asked.describe().model_dump_json()


async def test_a_barge_in_leaves_the_pool_idle(service: Loopback) -> None:
    """A hundred cancelled searches give all their connections back."""
    asked = provider(service)
    async with asyncio.timeout(20):
        await a_hundred_barge_ins(asked, service)
        assert busy_connections(asked._client._own) == []


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("is", "Ann", True), ("=", "bob", False), ("not is", "ann", False), ("≠", "bob", True),
        ("contains", "nn", True), ("not contains", "nn", False), ("in", "x,ann", True), ("in", ["x"], False),
        ("not in", ["ann"], False), ("start with", "a", True), ("end with", "b", False), ("empty", None, False),
        ("not empty", None, True), (">", "amy", True), ("unheard of", "ann", False),
    ],
)  # fmt: skip
def test_conditions_are_checked_as_ragflow_means_them(operator: str, value: Any, expected: bool) -> None:
    """An operator that is not known never holds."""
    condition = {"logic": "and", "conditions": [{"name": "team", "comparison_operator": operator, "value": value}]}
    assert holds(condition, {"team": "Ann"}, "logic") is expected


def test_numbers_are_ordered_as_numbers_and_lists_by_any_member() -> None:
    """Metadata are text in RAGFlow even where they count something."""
    older = {"logic": "and", "conditions": [{"name": "year", "comparison_operator": "<", "value": "1000"}]}
    assert holds(older, {"year": "999"}, "logic")
    assert not holds(older, {"year": 2026}, "logic")
    assert not holds(older, {}, "logic")
    assert holds(team("ann"), {"team": ["bob", "ann"]}, "logic")


def test_an_or_is_never_mixed_with_other_conditions() -> None:
    """Joined flat it would widen what the owner may see."""
    two = [{"name": n, "comparison_operator": "is", "value": "x"} for n in ("a", "b")]
    either = {"logic": "or", "conditions": two}
    assert joined_conditions("ragflow", [either], "logic") == either
    with pytest.raises(UnsupportedFilters):
        joined_conditions("ragflow", [team("ann"), either], "logic")
    assert len(joined_conditions("ragflow", [team("ann"), team("bob")], "logic")["conditions"]) == 2


def test_a_config_takes_its_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the file is refused by its name, and wrong values by theirs."""
    config = {"key": "ragflow", "label": "RAGFlow", "base_url": "http://ragflow.example", "dataset_ids": ["a"]}
    with pytest.raises(ProviderContractError, match="'api_key' is not known") as caught:
        from_config({**config, "api_key": KEY, "api_key_env": "RAGFLOW_KEY"})
    assert "s3cret" not in str(caught.value)
    monkeypatch.setenv("RAGFLOW_KEY", KEY)
    made = from_config({**config, "api_key_env": "RAGFLOW_KEY"})
    assert made._headers == {"Authorization": f"Bearer {KEY}"}
    with pytest.raises(ValueError, match="no id"):
        RAGFlowProvider("http://ragflow.example", KEY, [], key="ragflow", label="RAGFlow")
