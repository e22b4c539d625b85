"""One suite that every index adapter passes, ours and those of other people's packages."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from knowledge_service import (
    AdapterContext,
    AdapterSearch,
    EnumeratingAdapter,
    KnowledgeAdapter,
    KnowledgeDocument,
    source_from,
)
from knowledge_service.documents import is_wellformed
from knowledge_service.indexes.library import open_library_index
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.indexes.postgres import PostgresIndex
from knowledge_service.indexes.ragflow import RagflowIndex
from knowledge_service.sql.database import open_database
from tests.knowledge_service.ragflow_server import RagflowServer


def source(name: str, **config: Any) -> Any:
    content = {"kind": "object", "object": "article", "contentFields": ["body"]}
    return source_from({"id": name, "label": name, "adapter": "index", "adapterConfig": config, "source": content})


ARTICLES = source("articles", datasetId="dataset_articles")
NOTES = source("notes", datasetId="dataset_notes")


def document(record: str, content: str, *, of: Any = ARTICLES, **more: Any) -> KnowledgeDocument:
    return KnowledgeDocument(
        id=of.document_id(record), source_id=of.id, source_record_id=record, content=content, **more
    )


def context(of: Any = ARTICLES) -> AdapterContext:
    return AdapterContext(source=of, reason="test")


async def found(
    index: KnowledgeAdapter, query: str, *, of: Any = ARTICLES, limit: int = 10, **chosen: Any
) -> list[str]:
    hits = await index.search(query, AdapterSearch(source=of, limit=limit, filter=chosen))
    assert all(is_wellformed(hit) for hit in hits)
    assert len(hits) <= limit
    for hit in hits:
        assert hit.source_record_id == of.record_id(hit.document_id)
    return list(dict.fromkeys(hit.source_record_id or "" for hit in hits))


async def toy_meaning(texts: Sequence[str]) -> list[list[float]]:
    """A stand-in for an embedding model: close texts share letters. Enough to see that vectors take part."""
    return [[text.lower().count(letter) + 0.01 for letter in "abcdefghij"] for text in texts]


RAGFLOWS = tuple(f"ragflow {version}" for version in ("0.20.5", "0.24.0", "0.25.2", "0.27.0"))


@pytest.fixture(params=["memory", "postgres", "postgres with vectors", "library", *RAGFLOWS])
async def index(request: pytest.FixtureRequest) -> AsyncIterator[KnowledgeAdapter]:
    if request.param == "memory":
        yield MemoryIndex()
        return
    if request.param == "library":
        folder = request.getfixturevalue("tmp_path") / "library"
        held_by_library = open_library_index(folder)
        yield held_by_library
        await held_by_library.close()
        return
    if request.param in RAGFLOWS:
        server = RagflowServer(version=request.param.split()[1])
        await server.start()
        ragflow = RagflowIndex(server.url, "key", poll_seconds=0)
        yield ragflow
        await ragflow.close()
        await server.stop()
        return
    engine = open_database(request.getfixturevalue("postgres_url"))
    meaning = {"embedder": toy_meaning, "dimensions": 10, "approximate": True} if "vectors" in request.param else {}
    held = PostgresIndex(engine, **meaning)  # type: ignore[arg-type]
    await held.prepare()
    yield held
    await engine.dispose()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The refunds take five days", "refund"),
        ("Le café est à la réception", "CAFE reception"),
        ("Возврат занимает пять дней", "возврат"),
        ("返品は五日以内にお願いします", "返品"),
        ("退款需要五个工作日", "退款"),
        ("환불은 5일이 걸립니다", "환불은"),
        ("يستغرق الاسترداد خمسة أيام", "الاسترداد"),
        ("การคืนเงินใช้เวลาห้าวัน", "คืนเงิน"),
        ("ﬁle № ４２ — O'Reilly\\", "42 o'reilly file"),
        ("धनवापसी में पाँच दिन लगते हैं", "धनवापसी"),
    ],
)
async def test_a_document_is_found_by_its_words_in_every_script(index: KnowledgeAdapter, text: str, query: str) -> None:
    """No language is silently lost on the way into an index."""
    await index.upsert([document("1", text), document("2", "zzz qqq")], context())
    assert (await found(index, query))[0] == "1"


async def test_the_best_answer_comes_first(index: KnowledgeAdapter) -> None:
    """Ranking is the index's own affair, but a plain answer beats a passing mention."""
    await index.upsert(
        [
            document("1", "parcel " * 5 + "refund of a parcel refund"),
            document("2", "holiday calendar of the parcel team"),
        ],
        context(),
    )
    assert (await found(index, "refund parcel"))[0] == "1"


async def test_writing_a_document_again_replaces_it(index: KnowledgeAdapter) -> None:
    """The old text is gone, and the document is there once."""
    await index.upsert([document("1", "alpha"), document("2", "zulu")], context())
    for _ in range(2):
        await index.upsert([document("1", "omega")], context())
    hits = await index.search("omega", AdapterSearch(source=ARTICLES, limit=10))
    assert [hit.snippet for hit in hits if hit.source_record_id == "1"] == ["omega"]
    alpha = await index.search("alpha", AdapterSearch(source=ARTICLES, limit=10))
    assert "alpha" not in {hit.snippet for hit in alpha}


async def test_a_shorter_text_leaves_no_rest_of_a_longer_one(index: KnowledgeAdapter) -> None:
    """All passages of a document are replaced, not the first ones only."""
    long = "\n\n".join(f"paragraph {number} " + "word " * 120 for number in range(6))
    await index.upsert([document("1", long)], context())
    await index.upsert([document("1", "short")], context())
    for query, texts in (("short", {"short"}), ("paragraph word", {"short", ""})):
        hits = await index.search(query, AdapterSearch(source=ARTICLES, limit=50))
        assert {hit.snippet for hit in hits} <= texts
    assert await found(index, "short") == ["1"]


async def test_deleting_is_done_when_it_returns(index: KnowledgeAdapter) -> None:
    """A reap guard confirms rows on this word; deleting what is not there is no failure."""
    await index.upsert([document("1", "alpha"), document("2", "alpha")], context())
    await index.delete([ARTICLES.document_id("1"), ARTICLES.document_id("never")], context())
    assert await found(index, "alpha") == ["2"]
    await index.delete([ARTICLES.document_id("1")], context())
    await index.delete([], context())
    assert await found(index, "alpha") == ["2"]


async def test_sources_do_not_see_each_other(index: KnowledgeAdapter) -> None:
    """Two sources on one index stay apart in search, deletion and listing."""
    await index.upsert([document("1", "alpha")], context())
    await index.upsert([document("1", "alpha", of=NOTES)], context(NOTES))
    await index.delete([ARTICLES.document_id("1")], context())
    assert await found(index, "alpha") == []
    assert await found(index, "alpha", of=NOTES) == ["1"]


async def test_a_filter_never_hides_what_meets_it(index: KnowledgeAdapter) -> None:
    """An index may ignore a filter, since the service applies it again, but must not lose documents by it."""
    await index.upsert(
        [
            document("1", "alpha", metadata={"level": 1, "open": True}),
            document("2", "alpha", metadata={"level": 2, "open": True}),
        ],
        context(),
    )
    assert "2" in await found(index, "alpha", level=2, open=True)
    assert "2" in await found(index, "alpha", level={"$gt": 1})


async def test_a_larger_limit_only_appends(index: KnowledgeAdapter) -> None:
    """The service asks for more in rounds; what came first must stay first."""
    await index.upsert([document(str(number), "alpha " * (number + 1)) for number in range(12)], context())
    few, all_of_them = await found(index, "alpha", limit=4), await found(index, "alpha", limit=100)
    assert len(all_of_them) == 12
    assert all_of_them[: len(few)] == few


async def test_a_query_without_words_finds_nothing_and_fails_nothing(index: KnowledgeAdapter) -> None:
    """Signs and quotes are what speech recognition sends when nobody spoke."""
    await index.upsert([document("1", "alpha")], context())
    for query in ("...", "' | !", ":* & ()", "\\"):
        await index.search(query, AdapterSearch(source=ARTICLES, limit=5))


async def test_an_index_that_can_list_lists_everything_once(index: KnowledgeAdapter) -> None:
    """Pruning walks the listing page by page."""
    if not isinstance(index, EnumeratingAdapter):
        pytest.skip("this index cannot list what it holds")
    await index.upsert([document(str(number), "alpha\n\n" + "beta " * 300) for number in range(7)], context())
    await index.upsert([document("1", "alpha", of=NOTES)], context(NOTES))
    listed: list[str] = []
    while page := await index.list_document_ids(ARTICLES, after=listed[-1] if listed else "", limit=3):
        listed += page
    assert listed == sorted(ARTICLES.document_id(str(number)) for number in range(7))


async def test_odd_texts_are_held_or_refused_but_break_nothing(index: KnowledgeAdapter) -> None:
    """Null characters, quotes and very long words come out of real documents."""
    odd = "nul\0 byte O'Reilly \\ back " + "x" * 3000 + " 'quoted' \u202e end"
    await index.upsert([document("1", odd, metadata={"note": "a\0b"}), document("2", "alpha")], context())
    assert "2" in await found(index, "alpha")


async def test_a_healthy_index_says_so(index: KnowledgeAdapter) -> None:
    """The service's health rests on it."""
    assert (await index.health_check()).ok
