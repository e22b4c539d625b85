"""`CompositeProvider` merges what its parts find, each under its own name."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters._interleaving import interleaved
from adapters.composite import from_config
from adapters.function import FunctionProvider
from knowledge_provider import (
    KnowledgeResult,
    ProviderContractError,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    Source,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)
from tests.adapters.asking import context_for, request_for
from tests.adapters.composite_parts import Scripted, composite, ids


async def test_parts_take_turns_and_ids_are_theirs() -> None:
    """Scores cannot be compared, so ranks decide: the first of each, then the second of each."""
    both = composite({"wiki": Scripted("a", "b", "c"), "mail": Scripted("a2", "b2")})
    answer = await both.retrieve(request_for(top_k=4), context_for())
    assert ids(answer) == ["wiki:a", "mail:a2", "wiki:b", "mail:b2"]
    assert answer["partial"] == []
    assert {result.metadata["part"] for result in answer["results"]} == {"wiki", "mail"}


async def test_two_owners_asking_at_once_never_see_each_other() -> None:
    """The trusted context reaches every part of every call unchanged but for its deadline."""

    async def mine(request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(0)
        return [{"id": context.owner_id, "content": context.owner_id}]

    def blocking(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return [{"id": context.owner_id, "content": f"{context.owner_id} again"}]

    class Plain(Scripted):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return blocking(request, context)

    parts = {
        "wiki": FunctionProvider(mine, key="wiki", label="Wiki"),
        "mail": FunctionProvider(blocking, key="mail", label="M", waiting=200),
    }
    both = composite(parts)
    owners = ["ann", "bob"] * 50
    answers = await asyncio.gather(*(both.retrieve(request_for(), context_for(owner)) for owner in owners))
    assert [ids(answer) for answer in answers] == [[f"wiki:{owner}", f"mail:{owner}"] for owner in owners]
    plain = composite({"plain": Plain()})
    assert ids(await plain.retrieve(request_for(), context_for("ann"))) == ["plain:ann"]
    await both.close()
    await plain.close()


async def test_filters_are_given_to_each_part_by_name_or_refused() -> None:
    """A part that is not named would be searched without any, which is wider than what was asked."""
    parts = {"wiki": Scripted("a"), "mail": Scripted("b")}
    both = composite(parts)
    for wrong in ({"team": "a"}, {"wiki": {"team": "a"}}):
        with pytest.raises(UnsupportedFilters):
            await both.retrieve(request_for(filters=wrong), context_for())
    assert parts["wiki"].asked == []
    await both.retrieve(request_for(filters={"wiki": {"team": "a"}, "mail": {"box": 1}}), context_for())
    assert [part.asked[0].filters for part in parts.values()] == [{"team": "a"}, {"box": 1}]


async def test_knowledge_bases_are_the_parts_own_under_their_name() -> None:
    """Only the parts whose bases were chosen are asked, by their own ids; leaving the others out is not partial."""
    parts = {"wiki": Scripted("a", bases=("handbook",)), "mail": Scripted("b", bases=("inbox", "sent"))}
    both = composite(parts)
    assert [base.id for base in both.describe().knowledge_bases or ()] == ["wiki:handbook", "mail:inbox", "mail:sent"]
    answer = await both.retrieve(request_for(knowledge_base_ids=("mail:sent",)), context_for())
    assert (ids(answer), answer["partial"]) == (["mail:b"], [])
    assert parts["mail"].asked[0].knowledge_base_ids == ("sent",)
    assert parts["wiki"].asked == []
    with pytest.raises(UnknownKnowledgeBase):
        await both.retrieve(request_for(knowledge_base_ids=("drive:x",)), context_for())


async def test_composites_nest_and_name_what_is_missing_inside() -> None:
    """The path says which part of which part."""
    inner = composite({"wiki": Scripted("a"), "mail": Scripted(error=ProviderUnavailable("mail"))})
    answer = await composite({"office": inner}).retrieve(request_for(), context_for())
    assert (ids(answer), answer["partial"]) == (["office:wiki:a"], ["office/mail"])


def result(name: str, content: str, uri: str | None = None, locator: str | None = None) -> KnowledgeResult:
    return KnowledgeResult(id=name, content=content, score=0.5, source=Source(uri=uri, locator=locator))


def test_what_two_parts_found_is_one_result_and_counts_more() -> None:
    """The same words, or the same place of a page; passages of one page within a part stay apart."""
    page = "https://docs.example.com/r"
    wiki = [
        result("1", "other"),
        result("2", "Two  reviewers."),
        result("3", "p", page, "a"),
        result("4", "q", page, "b"),
    ]
    mail = [result("5", "new"), result("6", "two reviewers."), result("7", "p, longer", page, "a")]
    merged = interleaved({"wiki": wiki, "mail": mail}, 8)
    assert [one.id for one in merged] == ["wiki:2", "wiki:3", "wiki:1", "mail:5", "wiki:4"]
    assert {one.score for one in merged} == {None}


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.lists(st.text("xyz", min_size=1, max_size=3), max_size=6),
        max_size=3,
    ),
    st.integers(1, 8),
)
def test_merging_keeps_every_text_once_and_each_parts_order(parts: dict[str, list[str]], top_k: int) -> None:
    """Nothing is lost below the limit, nothing is doubled, and no part is starved by another."""
    lists = {name: [result(str(n), text) for n, text in enumerate(texts)] for name, texts in parts.items()}
    merged = interleaved(lists, top_k)
    everything = interleaved(lists, 1_000)
    assert merged == everything[:top_k]
    texts = [one.content for one in everything]
    assert sorted(texts) == sorted({text for each in parts.values() for text in each})
    firsts = {each[0] for each in parts.values() if each}
    assert firsts <= set(texts[: len(firsts) + sum(len(set(each)) for each in parts.values())])


async def test_health_is_that_of_the_parts_together() -> None:
    """Some missing is degraded with their names, none there is unavailable."""

    class Ill(Scripted):
        async def health(self) -> ProviderHealth:
            raise RuntimeError("password=hunter2")

    assert (await composite({"wiki": Scripted()}).health()).status == "ready"
    partly = await composite({"wiki": Scripted(), "mail": Ill()}).health()
    assert (partly.status, partly.message) == ("degraded", "Not available: mail.")
    assert (await composite({"mail": Ill()}).health()).status == "unavailable"


async def test_every_part_is_closed_once_also_when_one_fails() -> None:
    """A part that cannot be closed does not keep the next one open."""

    class Stuck(Scripted):
        async def close(self) -> None:
            raise RuntimeError("password=hunter2")

    last = Scripted()
    with pytest.raises(RetrievalError, match="could not be closed"):
        await composite({"stuck": Stuck(), "last": last}).close()
    assert last.closed == 1


def test_wrong_parts_fail_at_composition() -> None:
    """A name that could not be told apart in an id, or no part at all."""
    with pytest.raises(ValueError, match="at least one"):
        composite({})
    with pytest.raises(ValueError, match="'My Wiki'"):
        composite({"My Wiki": Scripted()})


def test_a_config_builds_its_parts_by_name() -> None:
    """Parts are any installed provider; an unknown one is named."""
    part = {"provider": "http", "config": {"key": "wiki", "label": "Wiki", "url": "https://wiki.example.com"}}
    made = from_config({"key": "all", "label": "All", "parts": {"wiki": part}})
    assert list(made._parts) == ["wiki"]
    with pytest.raises(ProviderContractError, match="'unheard-of'"):
        from_config({"key": "all", "label": "All", "parts": {"wiki": {"provider": "unheard-of"}}})
