"""`CompositeProvider` merges what came in time and says what is missing."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters._interleaving import interleaved
from adapters.composite import CompositeProvider, from_config
from adapters.function import FunctionProvider
from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from knowledge_provider import (
    KnowledgeBase,
    KnowledgeResult,
    ProviderContractError,
    ProviderDescription,
    ProviderHealth,
    ProviderUnauthorized,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
    Source,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)
from tests.adapters.asking import context_for, everything_about, request_for, until


class Scripted:
    """A part that answers, fails or waits as the test says, and remembers what it was asked."""

    def __init__(
        self, *ids: str, error: Exception | None = None, key: str = "part", bases: tuple[str, ...] = ()
    ) -> None:
        self.ids = ids
        self.error = error
        self.key = key
        self.bases = bases
        self.asked: list[RetrievalRequest] = []
        self.hold: asyncio.Event | None = None
        self.cancelled = 0
        self.closed = 0

    def describe(self) -> ProviderDescription:
        bases = tuple(KnowledgeBase(id=base) for base in self.bases)
        return ProviderDescription(
            protocol_version=1,
            key="part",
            label="Part",
            capabilities={"filters": True},
            knowledge_bases=bases or None,
        )

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.asked.append(request)
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error is not None:
            raise self.error
        return [{"id": name, "content": f"text of {name}"} for name in self.ids]

    async def close(self) -> None:
        self.closed += 1


def composite(parts: Mapping[str, Any], **options: Any) -> CompositeProvider:
    return CompositeProvider(parts, key="all", label="All", **options)


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [result.id for result in answer["results"]]


async def test_parts_take_turns_and_ids_are_theirs() -> None:
    """Scores cannot be compared, so ranks decide: the first of each, then the second of each."""
    both = composite({"wiki": Scripted("a", "b", "c"), "mail": Scripted("a2", "b2")})
    answer = await both.retrieve(request_for(top_k=4), context_for())
    assert ids(answer) == ["wiki:a", "mail:a2", "wiki:b", "mail:b2"]
    assert answer["partial"] == []
    assert {result.metadata["part"] for result in answer["results"]} == {"wiki", "mail"}


async def test_a_part_that_is_late_or_fails_is_named_and_the_rest_is_answered() -> None:
    """The caller has its answer in time; the late part is cancelled."""
    late = Scripted("x")
    late.hold = asyncio.Event()
    parts = {"wiki": Scripted("a"), "mail": late, "drive": Scripted(error=ProviderUnauthorized("drive"))}
    async with asyncio.timeout(20):
        answer = await composite(parts).retrieve(request_for(), context_for(seconds=0.3))
    assert ids(answer) == ["wiki:a"]
    assert answer["partial"] == ["mail", "drive"]
    await until(lambda: late.cancelled == 1)


async def test_a_part_that_ignores_its_cancellation_keeps_nobody() -> None:
    """It is late like any other, and is let run out alone."""
    release = asyncio.Event()

    class Stubborn(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return []

    parts = {"wiki": Scripted("a"), "mail": Stubborn()}
    async with asyncio.timeout(20):
        answer = await composite(parts).retrieve(request_for(), context_for(seconds=0.3))
        assert (ids(answer), answer["partial"]) == (["wiki:a"], ["mail"])
        release.set()
        while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - the stubborn task has no event of its own
            await asyncio.sleep(0.001)


async def test_each_part_has_its_own_share_of_the_time() -> None:
    """A slow part may be given less than the whole, so that it never costs more."""
    slow = Scripted("x")
    slow.hold = asyncio.Event()
    shares = composite({"wiki": Scripted("a"), "mail": slow}, share_seconds={"wiki": 4.0, "mail": 0.05})
    async with asyncio.timeout(20):
        answer = await shares.retrieve(request_for(), context_for(seconds=60))
    assert answer["partial"] == ["mail"]


async def test_a_part_that_keeps_failing_rests_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part has a breaker of its own; the others go on."""
    clock = time.monotonic()
    monkeypatch.setattr("adapters._part.time.monotonic", lambda: clock)
    broken = Scripted("x", error=ProviderUnavailable("mail"))
    both = composite({"wiki": Scripted("a"), "mail": broken}, failures=2, rest_seconds=10)
    for _ in range(5):
        assert (await both.retrieve(request_for(), context_for(seconds=60)))["partial"] == ["mail"]
    assert len(broken.asked) == 2
    clock += 11
    await both.retrieve(request_for(), context_for(seconds=60))
    await both.retrieve(request_for(), context_for(seconds=60))
    assert len(broken.asked) == 3
    clock += 11
    broken.error = None
    assert (await both.retrieve(request_for(), context_for(seconds=60)))["partial"] == []


async def test_failures_count_only_in_a_row() -> None:
    """A part that fails now and then is asked each time."""
    shaky = Scripted("x")
    both = composite({"wiki": Scripted("a"), "mail": shaky}, failures=2)
    for error in (ProviderUnavailable("mail"), None) * 3:
        shaky.error = error
        await both.retrieve(request_for(), context_for())
    assert len(shaky.asked) == 6


async def test_a_part_that_cancels_itself_is_missing_and_cancels_nobody() -> None:
    """Some vendor SDKs answer a lost connection with a cancellation; that is not the user speaking."""

    class SelfCancelling(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            raise asyncio.CancelledError

    answer = await composite({"wiki": Scripted("a"), "odd": SelfCancelling()}).retrieve(request_for(), context_for())
    assert (ids(answer), answer["partial"]) == (["wiki:a"], ["odd"])


async def test_a_wrong_request_does_not_send_a_part_to_rest() -> None:
    """The part is well; what was asked of it was not."""
    picky = Scripted("x", error=UnsupportedFilters("mail"))
    both = composite({"wiki": Scripted("a"), "mail": picky}, failures=1)
    for _ in range(3):
        await both.retrieve(request_for(), context_for())
    assert len(picky.asked) == 3


async def test_a_silent_part_is_asked_a_second_time_when_the_host_wants_it() -> None:
    """The first answer counts, the other try is cancelled; without the option there is one try."""

    class SilentOnce(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            self.hold = asyncio.Event() if not self.asked else None
            return await super().retrieve(request, context)

    part = SilentOnce("a")
    async with asyncio.timeout(20):
        answer = await composite({"wiki": part}, hedge_after_seconds=0.02).retrieve(request_for(), context_for())
        await asyncio.sleep(0)
    assert ids(answer) == ["wiki:a"]
    assert (len(part.asked), part.cancelled) == (2, 1)
    alone = SilentOnce("a")
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalTimedOut):
            await composite({"wiki": alone}).retrieve(request_for(), context_for(seconds=0.1))
    assert len(alone.asked) == 1


@pytest.mark.parametrize("failing", [1, 2])
async def test_of_two_tries_the_one_that_succeeds_counts(failing: int) -> None:
    """A try that fails while the other is under way costs nothing and is no failure of the part."""
    begun, release = asyncio.Event(), asyncio.Event()

    class OneFails(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            self.asked.append(request)
            number = len(self.asked)
            if number == 2:
                begun.set()
            await begun.wait()
            if number == failing:
                release.set()
                raise ProviderUnavailable("wiki")
            await release.wait()
            for _ in range(10):  # the failure is heard first
                await asyncio.sleep(0)
            return [{"id": "a", "content": f"from try {number}"}]

    both = composite({"wiki": OneFails()}, hedge_after_seconds=0.01, failures=1)
    async with asyncio.timeout(20):
        answer = await both.retrieve(request_for(), context_for())
    assert [result.content for result in answer["results"]] == [f"from try {3 - failing}"]
    assert not both._parts["wiki"]._failed_in_a_row


async def test_a_barge_in_ends_both_tries() -> None:
    """The second try is no way for a call to outlive its caller."""
    silent = Scripted()
    silent.hold = asyncio.Event()
    both = composite({"wiki": silent}, hedge_after_seconds=0.01)
    call = asyncio.create_task(both.retrieve(request_for(), context_for()))
    await until(lambda: len(silent.asked) == 2)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert call.cancelled()
    await until(lambda: len(asyncio.all_tasks()) == 1)
    assert silent.cancelled == 2


async def test_when_no_part_answers_the_error_says_so() -> None:
    """Late together is a timeout, one part alone keeps its error, else the parts are named without their texts."""
    secret = RuntimeError("password=hunter2")
    parts = {"wiki": Scripted(error=secret), "mail": Scripted(error=ProviderUnavailable("mail"))}
    with pytest.raises(ProviderUnavailable, match="wiki, mail") as caught:
        await composite(parts).retrieve(request_for(), context_for())
    assert "hunter2" not in everything_about(caught.value)
    with pytest.raises(ProviderUnauthorized):
        await composite({"one": Scripted(error=ProviderUnauthorized("one"))}).retrieve(request_for(), context_for())
    for part in (late := [Scripted(), Scripted()]):
        part.hold = asyncio.Event()
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalTimedOut):
            await composite({"a": late[0], "b": late[1]}).retrieve(request_for(), context_for(seconds=0.1))


async def test_cancelling_reaches_every_part() -> None:
    """A barge-in frees the caller at once and leaves no part running; a hundred of them leave no task."""
    parts = {"wiki": Scripted("a"), "mail": Scripted("b")}
    for part in parts.values():
        part.hold = asyncio.Event()
    both = composite(parts, failures=10_000)
    async with asyncio.timeout(30):
        for count in range(1, 101):
            call = asyncio.create_task(both.retrieve(request_for(), context_for()))
            while len(parts["mail"].asked) < count:  # noqa: ASYNC110 - a few turns of the loop
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert call.cancelled()
        while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - a few turns of the loop
            await asyncio.sleep(0)
    assert [part.cancelled for part in parts.values()] == [100, 100]


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


async def test_a_part_that_answers_nonsense_is_missing() -> None:
    """No list of results is a failure of that part alone."""

    class Nonsense(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return "nonsense"

    answer = await composite({"wiki": Scripted("a"), "odd": Nonsense()}).retrieve(request_for(), context_for())
    assert answer["partial"] == ["odd"]


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


async def told(parts: Mapping[str, Any], query: str = "policy", **options: Any) -> tuple[dict[str, Any], Any]:
    """What the model is told through the whole gateway, and the response its host sees."""
    async with FrontendKnowledgeRuntime(composite(parts), cache_ttl_seconds=60.0, **options) as runtime:
        tool = KnowledgeTool(runtime)
        outcome = await tool.call({"query": query}, owner_id="ann", session_id="s", turn_id="t")
        return json.loads(outcome.output), outcome.response


async def test_the_model_is_told_that_a_result_is_partial() -> None:
    """The names of the parts that did not answer travel to the host and, in a sentence, to the model."""
    parts = {"wiki": Scripted("a"), "mail": Scripted(error=ProviderUnavailable("mail"))}
    output, response = await told(parts)
    assert output["status"] == "ok"
    assert output["partial"] == "Not searched: mail. Say that the answer may be incomplete."
    assert [entry["content"] for entry in output["results"]] == ["text of a"]
    assert response.partial == ("mail",)
    whole, response = await told({"wiki": Scripted("a"), "mail": Scripted("b")})
    assert "partial" not in whole
    assert response.partial == ()


async def test_nothing_found_in_a_part_of_the_whole_is_not_nothing() -> None:
    """The model may not say that there is no such thing while a part could not be searched."""
    output, response = await told({"wiki": Scripted(), "mail": Scripted(error=ProviderUnavailable("mail"))})
    assert (output["status"], output["retryable"]) == ("no_results", True)
    assert "mail could not be searched" in output["message"]
    assert response.partial == ("mail",)


async def test_a_partial_answer_is_not_kept_for_the_next_time() -> None:
    """Once the missing part is back, the same question has the whole answer."""
    mail = Scripted("b", error=ProviderUnavailable("mail"))
    async with FrontendKnowledgeRuntime(
        composite({"wiki": Scripted("a"), "mail": mail}), cache_ttl_seconds=60
    ) as runtime:
        first = await runtime.search("policy", owner_id="ann", session_id="s", turn_id="1")
        mail.error = None
        second = await runtime.search("policy", owner_id="ann", session_id="s", turn_id="2")
    assert (first.partial, len(first.results)) == (("mail",), 1)
    assert (second.partial, len(second.results)) == ((), 2)


async def test_names_of_parts_are_foreign_text_too() -> None:
    """They are cleaned and bounded like everything a provider says, and nonsense in their place is ignored."""

    class Loud(Scripted):
        def __init__(self, partial: Any) -> None:
            super().__init__("a")
            self.partial = partial

        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return {"results": [{"id": "a", "content": "a"}], "partial": self.partial}

    for partial, expected in (
        (["x\u202e" + "y" * 500] * 50, 1),
        ([f"part {n}" for n in range(50)], 8),
        ("mail", 0),
        ([None, 5, ""], 0),
        ({"mail": 1}, 0),
    ):
        async with FrontendKnowledgeRuntime(Loud(partial)) as runtime:
            response = await runtime.search("policy", owner_id="ann")
            assert len(response.partial) == expected
            assert all(len(name) <= 60 and "\u202e" not in name for name in response.partial)
            output = (
                await KnowledgeTool(runtime, budget_characters=800).call({"query": "policy"}, owner_id="ann")
            ).output
            assert len(output) <= 800
