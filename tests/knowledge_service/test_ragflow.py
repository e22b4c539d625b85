"""RAGFlow as the source of its versions says: refusals that look like success, late parsing, odd deletions."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from knowledge_service import (
    AdapterContext,
    AdapterSearch,
    DocumentRefused,
    ExecutionContext,
    IndexFailed,
    InvalidSource,
    KnowledgeDocument,
    KnowledgeService,
    MemoryDataEngine,
    RowPolicy,
    source_from,
)
from knowledge_service.indexes.ragflow import RagflowIndex
from knowledge_service.indexes.ragflow_names import name_of, our_name
from knowledge_service.reap_guard import ReapGuard
from tests.knowledge_service.ragflow_server import VERSIONS, RagflowServer

CONTENT = {"kind": "object", "object": "article", "contentFields": ["body"]}


def declared(**config: Any) -> Any:
    config = {"datasetId": "ds", **config}
    return source_from({"id": "articles", "label": "A", "adapter": "flow", "adapterConfig": config, "source": CONTENT})


ARTICLES = declared()
CONTEXT = AdapterContext(source=ARTICLES, reason="test")


def document(record: str, content: str = "alpha", **more: Any) -> KnowledgeDocument:
    return KnowledgeDocument(
        id=f"articles:{record}", source_id="articles", source_record_id=record, content=content, **more
    )


@pytest.fixture(params=VERSIONS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[RagflowServer]:
    made = RagflowServer(version=request.param)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def index(server: RagflowServer) -> AsyncIterator[RagflowIndex]:
    made = RagflowIndex(server.url, "key", poll_seconds=0)
    yield made
    await made.close()


async def search(index: RagflowIndex, query: str = "alpha", limit: int = 10, of: Any = ARTICLES) -> list[str]:
    return [hit.document_id for hit in await index.search(query, AdapterSearch(source=of, limit=limit))]


async def test_a_wrong_key_is_a_failure_in_every_version(server: RagflowServer) -> None:
    """Old versions answer 200 with code 0 or 109 and data false; taken for success that would be "nothing found"."""
    index = RagflowIndex(server.url, "wrong", poll_seconds=0)
    for call in (search(index), index.delete(["articles:1"], CONTEXT), index.upsert([document("1")], CONTEXT)):
        with pytest.raises(IndexFailed, match="does not accept the API key") as failed:
            await call
        assert "wrong" not in str(failed.value)
    assert not (await index.health_check()).ok
    await index.close()


async def test_a_header_that_does_not_arrive_is_a_failure(server: RagflowServer, index: RagflowIndex) -> None:
    """Up to 0.24 a missing header is answered with code 0 and data false: a success envelope."""
    index._client._headers = {}
    with pytest.raises(IndexFailed, match="does not accept the API key"):
        await search(index)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, "<html>an app</html>", {}), "without JSON"),
        ((502, "bad gateway", {}), "answered 502"),
        ((200, {"code": 100, "message": "NotFound(404, password=hunter2)"}, {}), "code 100"),
        ((200, {"code": 108, "message": "no"}, {}), "refuses access"),
        ((500, {"code": 0, "data": {}}, {}), "status 500"),
        ((200, {"code": 0, "data": {"chunks": None}}, {}), "without a list of passages"),
        ((200, {"code": 0, "data": []}, {}), "without a list of passages"),
        ((200, [1], {}), "without JSON"),
    ],
)
async def test_what_is_no_answer_is_a_failure(
    server: RagflowServer, index: RagflowIndex, answer: tuple[int, Any, dict[str, str]], said: str
) -> None:
    """No unexpected answer is ever taken for an empty result, and no word of RAGFlow's comes out."""
    server.answer = answer
    with pytest.raises(IndexFailed, match=said) as failed:
        await search(index)
    assert "hunter2" not in str(failed.value)


async def test_a_rate_limit_names_its_time(server: RagflowServer, index: RagflowIndex) -> None:
    """The sync waits as long as RAGFlow asks."""
    server.answer = (429, {"code": 429}, {"Retry-After": "7"})
    with pytest.raises(IndexFailed) as failed:
        await search(index)
    assert failed.value.retry_after_seconds == 7


async def test_a_server_that_is_not_there_is_a_failure(server: RagflowServer, index: RagflowIndex) -> None:
    """Connection errors are translated."""
    await server.stop()
    with pytest.raises(IndexFailed, match="cannot be reached"):
        await search(index)
    await server.start()


async def test_a_write_returns_only_when_a_search_finds_it(server: RagflowServer, index: RagflowIndex) -> None:
    """RAGFlow parses later; a document that is not parsed is not indexed."""
    server.polls_to_parse = 5
    await index.upsert([document("1"), document("2")], CONTEXT)
    assert sorted(await search(index)) == ["articles:1", "articles:2"]
    parses = [body for method, path, body in server.requests if path.endswith("/chunks")]
    assert [len(body["document_ids"]) for body in parses] == [2]


async def test_a_document_that_cannot_be_parsed_is_refused_and_leaves_nothing(
    server: RagflowServer, index: RagflowIndex
) -> None:
    """A failed file would otherwise stay in the dataset for ever."""
    server.fail_parsing = "poison"
    with pytest.raises(DocumentRefused, match="cannot parse"):
        await index.upsert([document("1", "poison")], CONTEXT)
    assert server.files("ds") == {}


async def test_parsing_that_takes_too_long_is_taken_up_again(server: RagflowServer) -> None:
    """The next write goes on with the file that is there, and does not upload it twice."""
    server.polls_to_parse = 10_000
    index = RagflowIndex(server.url, "key", poll_seconds=0.001, parse_seconds=0.05)
    with pytest.raises(IndexFailed, match="did not parse"):
        await index.upsert([document("1")], CONTEXT)
    server.polls_to_parse = 1
    patient = RagflowIndex(server.url, "key", poll_seconds=0.001, parse_seconds=30)
    await patient.upsert([document("1")], CONTEXT)
    assert len(server.files("ds")) == 1
    await index.close()
    await patient.close()


async def test_the_new_state_is_there_before_the_old_one_goes(server: RagflowServer, index: RagflowIndex) -> None:
    """A crash in between leaves a document twice, never not at all; the next write removes the old one."""
    await index.upsert([document("1", "alpha old")], CONTEXT)
    server.requests.clear()
    await index.upsert([document("1", "alpha new")], CONTEXT)
    methods = [(method, path.rpartition("/")[2]) for method, path, _ in server.requests if method != "GET"]
    assert methods == [("POST", "documents"), ("POST", "chunks"), ("DELETE", "documents")]
    (file,) = server.files("ds").values()
    assert file.text == "alpha new"


async def test_no_call_ever_deletes_without_ids(server: RagflowServer, index: RagflowIndex) -> None:
    """Up to 0.24 an empty list deletes the whole dataset."""
    await index.upsert([document("1")], CONTEXT)
    await index.delete([], CONTEXT)
    await index.delete(["articles:unknown"], CONTEXT)
    assert await search(index) == ["articles:1"]
    assert all(body["ids"] for method, _, body in server.requests if method == "DELETE")


async def test_a_file_that_vanishes_during_a_deletion_is_gone_all_the_same(
    server: RagflowServer, index: RagflowIndex
) -> None:
    """Newer versions refuse a list with one unknown id, older ones stop at it; the others are deleted one by one."""
    await index.upsert([document("1"), document("2"), document("3")], CONTEXT)
    ids = [file.id for file in server.files("ds").values()]
    await index._delete("ds", ["never-there", *ids])
    assert server.files("ds") == {}


async def test_a_deleted_document_that_is_still_found_is_not_shown() -> None:
    """RAGFlow returns deleted documents for a while; the system of record has the last word."""
    server = RagflowServer(deleted_seen_for=3)
    await server.start()
    index = RagflowIndex(server.url, "key", poll_seconds=0)
    engine = MemoryDataEngine({"article": RowPolicy.of({"where": {}})})
    engine.put("article", "1", body="alpha")
    service = KnowledgeService(data_engine=engine)
    service.register_adapter("flow", index)
    service.register_source(ARTICLES)
    await service.reindex_source("articles")
    assert await ReapGuard(service)("article", [{"id": "1"}]) == ["1"]
    del engine.rows["article"]["1"]
    assert await search(index) == ["articles:1"]
    ada = ExecutionContext(user_id="ada")
    found = await service.search("alpha", execution_context=ada)
    assert (found.hits, found.sources[0].dropped) == ((), 1)
    await index.close()
    await server.stop()


async def test_files_of_other_people_in_the_dataset_are_never_shown(server: RagflowServer, index: RagflowIndex) -> None:
    """What was loaded by another route names no record, so it bypasses nothing."""
    await index.upsert([document("1")], CONTEXT)
    template = next(iter(server.files("ds").values()))
    for number, name in enumerate(("secret.pdf", "notes~1~zzz.md", "other~articles=3A1~0123456789ab.md")):
        server.files("ds")[f"foreign{number}"] = type(template)(f"foreign{number}", name, "alpha", "DONE", 9, ["alpha"])
    assert await search(index) == ["articles:1"]
    assert await index.list_document_ids(ARTICLES) == ["articles:1"]


async def test_many_hits_come_in_pages_as_far_as_the_version_gives_them(
    server: RagflowServer, index: RagflowIndex
) -> None:
    """page_size is the number of results, top_k the pool; newer versions stop at 64 and that is no failure."""
    await index.upsert([document(str(number)) for number in range(80)], CONTEXT)
    found = await search(index, limit=200)
    assert len(found) == (64 if server.is_at_least("0.27.0") else 80)
    asked = next(body for _, path, body in server.requests if path.endswith("/retrieval"))
    assert (asked["page_size"], asked["top_k"], asked["similarity_threshold"]) == (64, 1024, 0.0)
    assert not {"keyword", "metadata_condition"} & asked.keys()
    assert len(await search(index, limit=1)) == 1


async def test_the_source_may_set_what_it_knows_better(server: RagflowServer, index: RagflowIndex) -> None:
    """Threshold, weight and reranker go through by name."""
    source = declared(similarityThreshold=0.3, vectorSimilarityWeight=0.5, rerankId="bge")
    await search(index, of=source)
    asked = next(body for _, path, body in server.requests if path.endswith("/retrieval"))
    assert (asked["similarity_threshold"], asked["vector_similarity_weight"], asked["rerank_id"]) == (0.3, 0.5, "bge")


async def test_an_empty_dataset_is_no_outage(server: RagflowServer, index: RagflowIndex) -> None:
    """RAGFlow answers a search of it with an error."""
    assert await search(index) == []


async def test_a_source_without_a_dataset_is_told_so(index: RagflowIndex) -> None:
    """The key is named."""
    bare = source_from({"id": "articles", "label": "A", "adapter": "flow", "source": CONTENT})
    with pytest.raises(InvalidSource, match=r"adapterConfig\.datasetId"):
        await search(index, of=bare)


async def test_a_document_id_that_makes_no_file_name_is_refused(index: RagflowIndex) -> None:
    """255 bytes are all that a name has."""
    with pytest.raises(DocumentRefused, match="255 bytes"):
        await index.upsert([document("あ" * 80)], CONTEXT)


@pytest.mark.parametrize("record", ["1", "a b", "ü~/..\\", "100%", "日本", "x(1)", "=3A"])
def test_a_name_stands_for_its_document_and_no_other(record: str) -> None:
    """Names are told back exactly, also after RAGFlow added a number to them."""
    made = document(record)
    for name in (name_of(made), name_of(made).replace(".md", "(3).md")):
        found = our_name(name)
        assert found is not None
        assert (found.source_id, found.document_id) == ("articles", f"articles:{record}")
        assert made.content_hash().startswith(found.content_hash)


async def test_a_broken_key_or_address_is_refused_at_once() -> None:
    """A missing setting is not found out in a turn."""
    for url, key in (("", "key"), ("http://x", " ")):
        with pytest.raises(ValueError, match="needs a base URL and an API key"):
            RagflowIndex(url, key)
