"""The runtime asks safely: gate, deadline, cancellation, one flight, cache, breaker, and typed errors."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import (
    InvalidRetrievalRequest,
    InvalidRetrievalResult,
    KnowledgeResponse,
    OwnerRequired,
    ProviderContractError,
    ProviderForbidden,
    ProviderRateLimited,
    ProviderUnavailable,
    ProviderUnconfigured,
    QueryRequired,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)

PASSAGE = {"id": "1", "content": "Releases need two reviewers.", "source": {"uri": "https://docs.example.com/releases"}}


class Provider:
    """Records every call and answers as the test says; ``gate`` holds its calls in the middle."""

    def __init__(self, answer: Any = None, *, capabilities: Any = None, bases: Any = None) -> None:
        self.answer = [PASSAGE] if answer is None else answer
        self.calls: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = 0
        self._capabilities = capabilities or {}
        self._bases = bases

    def describe(self) -> Any:
        return {
            "protocolVersion": 1,
            "key": "search",
            "label": "Search",
            "capabilities": self._capabilities,
            "knowledgeBases": self._bases,
        }

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.calls.append((request, context))
        self.started.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer

    async def close(self) -> None:
        self.closed += 1


async def ask(runtime: FrontendKnowledgeRuntime, query: str = "release policy", **changes: Any) -> KnowledgeResponse:
    return await runtime.search(query, **({"owner_id": "ann"} | changes))


async def test_a_search_returns_cited_results_framed_as_data() -> None:
    """The whole line, once: request, one call, normalization, citation, notice."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await ask(runtime, " release policy ", top_k=3)
    assert (response.status, response.query, response.more) == ("ok", "release policy", 0)
    assert response.results[0].content == "Releases need two reviewers."
    assert response.results[0].citation == "source_1" == response.citations[0].id
    assert response.notice


async def test_the_provider_gets_request_and_context_apart() -> None:
    """What was asked and who asks never share an object, and the deadline is the runtime's."""
    provider = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}])
    before = time.monotonic()
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=2) as runtime:
        await ask(
            runtime,
            session_id="s",
            turn_id="t",
            trace_id="x",
            knowledge_base_ids=["eng"],
            filters={"year": 2026},
            top_k=2,
        )
    request, context = provider.calls[0]
    assert request == RetrievalRequest(
        query="release policy", top_k=2, knowledge_base_ids=("eng",), filters={"year": 2026}
    )
    assert (context.owner_id, context.session_id, context.turn_id, context.trace_id) == ("ann", "s", "t", "x")
    assert before + 2 <= context.deadline <= time.monotonic() + 2
    assert not context.cancelled.is_set()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Home and working directory; the test leaves nothing in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("folder")
async def test_without_a_provider_there_is_nothing() -> None:
    """No capabilities, unconfigured health, a typed error, nothing on disk (seed 1)."""
    async with FrontendKnowledgeRuntime() as runtime:
        assert runtime.capabilities() == {}
        assert runtime.describe() is None
        assert (await runtime.health()).status == "unconfigured"
        with pytest.raises(ProviderUnconfigured):
            await ask(runtime)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"query": ""}, QueryRequired),
        ({"query": " \n\u200b "}, QueryRequired),
        ({"query": "a" * 501}, InvalidRetrievalRequest),
        ({"owner_id": ""}, OwnerRequired),
        ({"owner_id": "  "}, OwnerRequired),
        ({"top_k": 0}, InvalidRetrievalRequest),
        ({"top_k": 9}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": ["hr"]}, UnknownKnowledgeBase),
        ({"knowledge_base_ids": ["eng"] * 9}, InvalidRetrievalRequest),
        ({"filters": {"year": 2026}}, UnsupportedFilters),
        ({"query": None}, QueryRequired),
        ({"query": 5}, InvalidRetrievalRequest),
        ({"owner_id": None}, OwnerRequired),
        ({"owner_id": 5}, OwnerRequired),
        ({"owner_id": ["ann"]}, OwnerRequired),
        ({"session_id": None}, InvalidRetrievalRequest),
        ({"session_id": ["s"], "turn_id": "t"}, InvalidRetrievalRequest),
        ({"turn_id": 5}, InvalidRetrievalRequest),
        ({"trace_id": 5}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": None}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": "eng"}, InvalidRetrievalRequest),
        ({"filters": 5}, InvalidRetrievalRequest),
    ],
)
async def test_a_request_outside_the_contract_never_reaches_the_provider(
    changes: dict[str, Any], error: type[RetrievalError]
) -> None:
    """Bounds, owner, disclosed knowledge bases and filters are checked before any call."""
    provider = Provider(bases=[{"id": "eng"}])
    async with FrontendKnowledgeRuntime(provider) as runtime:
        with pytest.raises(error):
            await ask(runtime, **changes)
    assert provider.calls == []


async def test_looking_ahead_for_something_wrong_begins_nothing() -> None:
    """`speculate` never raises, whatever it is given."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        wrong: list[Any] = [(None, "ann", "s"), (5, "ann", "s"), ("a", None, "s"), ("a", 5, "s"), ("a", "ann", ["s"])]
        for query, owner, session in wrong:
            assert not runtime.speculate(query, owner_id=owner, session_id=session)
    assert provider.calls == []


@pytest.mark.parametrize("capabilities", [{}, {"filters": False}])
async def test_filters_for_a_provider_that_does_not_apply_them_are_refused(capabilities: dict[str, bool]) -> None:
    """Ignoring a filter would widen a search that somebody meant to narrow."""
    async with FrontendKnowledgeRuntime(Provider(capabilities=capabilities)) as runtime:
        with pytest.raises(UnsupportedFilters):
            await ask(runtime, filters={"tenant": "a"})
        assert (await ask(runtime, filters={})).status == "ok"


# --- the deadline


def endless() -> Iterator[Any]:
    return ({"id": str(number), "content": f"passage {number}"} for number in count())


def stuck_generator(released: threading.Event) -> Callable[[], Iterator[Any]]:
    def generate() -> Iterator[Any]:
        yield PASSAGE
        released.wait()

    return generate


async def test_an_answer_after_the_deadline_is_a_timeout() -> None:
    """The caller hears of it within the bound; the late answer reaches nobody."""
    provider = Provider()
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=0.02) as runtime:
        async with asyncio.timeout(5):
            with pytest.raises(RetrievalTimedOut) as caught:
                await ask(runtime)
            await provider.cancelled.wait()
        provider.gate.set()
    assert caught.value.timeout_seconds == pytest.approx(0.02, abs=0.01)
    assert provider.calls[0][1].cancelled.is_set()


@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_endless_generator_is_drawn_from_only_so_far(wrapped: bool) -> None:
    """Ten million candidates cost as much as the first few."""
    drawn: list[str] = []

    def noted() -> Iterator[dict[str, str]]:
        for passage in endless():
            drawn.append(passage["id"])
            yield passage

    async with FrontendKnowledgeRuntime(Provider({"results": noted()} if wrapped else noted())) as runtime:
        response = await ask(runtime, top_k=2)
    assert [result.id for result in response.results] == ["0", "1"]
    assert len(drawn) == 16


async def test_a_generator_that_blocks_meets_the_deadline_and_blocks_no_loop() -> None:
    """A lazy answer is the provider's code too."""
    released = threading.Event()
    async with FrontendKnowledgeRuntime(Provider(stuck_generator(released)), timeout_seconds=0.05) as runtime:
        async with asyncio.timeout(5):
            with pytest.raises(RetrievalTimedOut):
                await ask(runtime)
        assert runtime.abandoned == 1
        released.set()


class StuckList(list[object]):
    """A list whose reading waits, as a query set does that asks its database only when it is read."""

    def __init__(self, released: threading.Event) -> None:
        super().__init__([PASSAGE])
        self._released = released

    def __iter__(self) -> Iterator[object]:
        self._released.wait()
        return super().__iter__()


class StuckDict(dict[str, object]):
    def __init__(self, released: threading.Event) -> None:
        super().__init__(PASSAGE)
        self._released = released

    def get(self, key: str, default: object = None, /) -> object:
        self._released.wait()
        return super().get(key, default)


@pytest.mark.parametrize("isolation", ["task", "thread"])
@pytest.mark.parametrize("lazy", [StuckList, lambda released: [StuckDict(released)]], ids=["list", "item"])
async def test_an_answer_that_waits_when_it_is_read_meets_the_deadline(
    lazy: Callable[[threading.Event], Any], isolation: Literal["task", "thread"]
) -> None:
    """Reading a query set runs the provider's code: off the loop, within the deadline, and counted."""
    released = threading.Event()
    provider = Provider(lazy(released))
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=0.05, isolation=isolation) as runtime:
        try:
            async with asyncio.timeout(5):
                with pytest.raises(RetrievalTimedOut):
                    await ask(runtime)
            assert runtime.abandoned == 1
        finally:
            released.set()


async def test_an_answer_that_came_too_late_is_no_answer() -> None:
    """A provider that blocks the loop itself cannot turn its delay into a result."""

    class BlocksTheLoop(Provider):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            while context.remaining_seconds():
                pass
            return [PASSAGE]

    async with FrontendKnowledgeRuntime(BlocksTheLoop(), timeout_seconds=0.02) as runtime:
        with pytest.raises(RetrievalTimedOut):
            await ask(runtime)


async def test_too_many_calls_that_do_not_stop_make_it_unavailable_at_once() -> None:
    """Abandoned calls are bounded; when they end the count falls and the provider is asked again."""
    released = threading.Event()

    class Blocking(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            self.calls.append((request, context))
            released.wait()
            return [PASSAGE]

    provider = Blocking()
    async with (
        asyncio.timeout(5),
        FrontendKnowledgeRuntime(provider, timeout_seconds=0.02, max_abandoned=2) as runtime,
    ):
        for number in range(2):
            with pytest.raises(RetrievalTimedOut):
                await ask(runtime, f"query {number}")
        assert runtime.abandoned == 2
        with pytest.raises(ProviderUnavailable, match="has 2 calls that do not stop"):
            await ask(runtime)
        assert len(provider.calls) == 2
        released.set()
        while runtime.abandoned:  # noqa: ASYNC110 - the count has no event
            await asyncio.sleep(0.001)
        assert (await ask(runtime)).status == "ok"


# --- cancellation


async def test_cancellation_reaches_the_provider_and_the_caller() -> None:
    """When the user speaks the work ends at once: the task is cancelled and context.cancelled is set."""
    provider = Provider()
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime))
        await provider.started.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await provider.cancelled.wait()
    assert provider.calls[0][1].cancelled.is_set()


async def test_a_call_cancelled_before_it_starts_never_calls_the_provider() -> None:
    """Neither before its first step nor between its steps."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        for steps in range(2):
            caller = asyncio.create_task(ask(runtime))
            for _ in range(steps):
                await asyncio.sleep(0)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
    assert provider.calls == []


# --- errors


async def test_a_providers_own_error_passes_with_its_code() -> None:
    """Adapters say precisely what went wrong."""
    error = ProviderRateLimited("search", retry_after_seconds=2)
    async with FrontendKnowledgeRuntime(Provider(error)) as runtime:
        with pytest.raises(ProviderRateLimited) as caught:
            await ask(runtime)
    assert caught.value.code == "knowledge_rate_limited"


@pytest.mark.parametrize("raised", [ValueError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, TimeoutError])
async def test_any_other_exception_is_unavailable_without_the_vendors_words(
    raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """The cause is chained for developers, logged by type and place with the trace id, and quoted nowhere."""
    error = raised("https://user:hunter2@vendor.example.com refused api_key=sk-123")
    with caplog.at_level(logging.DEBUG):
        async with FrontendKnowledgeRuntime(Provider(error)) as runtime:
            with pytest.raises(ProviderUnavailable) as caught:
                await ask(runtime, trace_id="trace-7")
    assert type(caught.value) is ProviderUnavailable
    assert caught.value.__cause__ is error
    assert "hunter2" not in str(caught.value) + caplog.text
    assert "sk-123" not in str(caught.value) + caplog.text
    assert "trace-7" in caplog.text
    assert raised.__name__ in caplog.text


@pytest.mark.parametrize("answer", [7, "text", b"bytes", object(), {"hits": []}, [1, None, "text"]])
async def test_an_answer_that_is_no_list_is_a_bad_response(answer: Any) -> None:
    """Junk is typed, and says nothing of itself."""
    async with FrontendKnowledgeRuntime(Provider(answer)) as runtime:
        with pytest.raises(InvalidRetrievalResult):
            await ask(runtime)


@pytest.mark.parametrize("answer", [[{"id": "1"}, {"id": "2", "content": None}], [{"id": "", "content": "a"}], []])
async def test_entries_that_are_no_results_leave_an_empty_answer(answer: Any) -> None:
    """Empty is typed."""
    async with FrontendKnowledgeRuntime(Provider(answer)) as runtime:
        response = await ask(runtime)
    assert (response.status, response.results, response.citations) == ("no_results", (), ())


# --- breaker, single flight, cache


async def test_a_failing_provider_rests_and_is_tried_again() -> None:
    """After consecutive failures calls are answered at once, without the provider."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=2, breaker_cool_down_seconds=60) as runtime:
        for _ in range(2):
            with pytest.raises(ProviderUnavailable):
                await ask(runtime)
        with pytest.raises(ProviderUnavailable, match="rests after repeated failures") as caught:
            await ask(runtime)
        assert (await runtime.health()).status == "degraded"
    assert len(provider.calls) == 2
    assert caught.value.retry_after_seconds == pytest.approx(60, abs=5)


async def test_a_rested_provider_is_asked_again_and_recovers() -> None:
    """The first call after the cool-down decides."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=1, breaker_cool_down_seconds=0) as runtime:
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"
        assert (await runtime.health()).status == "ready"


async def test_a_cancelled_try_does_not_lock_a_rested_provider_out() -> None:
    """A barge-in during the one trial call teaches nothing; the next call tries."""
    provider = Provider(OSError("down"))
    async with (
        asyncio.timeout(5),
        FrontendKnowledgeRuntime(provider, breaker_failures=1, breaker_cool_down_seconds=0) as runtime,
    ):
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.gate.clear()
        provider.started.clear()
        trial = asyncio.create_task(ask(runtime))
        await provider.started.wait()
        trial.cancel()
        await asyncio.wait([trial])
        provider.gate.set()
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"


async def test_one_owners_refusals_do_not_make_the_provider_rest_for_others() -> None:
    """Forbidden is an answer; only silence and breakdown open the breaker."""
    provider = Provider(ProviderForbidden("search"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=2) as runtime:
        for _ in range(5):
            with pytest.raises(ProviderForbidden):
                await ask(runtime, owner_id="ben")
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"


async def test_calls_at_the_same_time_share_one_flight() -> None:
    """Identical calls of one owner cost one provider call, and each gets its own citations."""
    provider = Provider()
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        callers = [asyncio.create_task(ask(runtime, turn_id=f"t{n}")) for n in range(3)]
        await provider.started.wait()
        provider.gate.set()
        responses = await asyncio.gather(*callers)
    assert len(provider.calls) == 1
    assert [response.citations[0].id for response in responses] == ["source_1"] * 3


async def test_one_of_two_waiters_leaves_and_the_other_is_answered_and_both_leave_and_the_work_ends() -> None:
    """Cancelling is each caller's own."""
    provider = Provider()
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        first, second, third = (asyncio.create_task(ask(runtime)) for _ in range(3))
        await provider.started.wait()
        first.cancel()
        await asyncio.wait([first])
        assert not provider.cancelled.is_set()
        second.cancel()
        third.cancel()
        await provider.cancelled.wait()
    assert len(provider.calls) == 1


OTHERS: list[dict[str, Any]] = [
    {"owner_id": "ben"},
    {"knowledge_base_ids": ["eng"]},
    {"filters": {"year": 2026}},
    {"top_k": 4},
    {"query": "holiday policy"},
]


@pytest.mark.parametrize("other", OTHERS)
async def test_neither_flight_nor_cache_is_shared_with_a_different_call(other: dict[str, Any]) -> None:
    """Never across owners, knowledge bases, filters, top_k or queries; at the same time or one after the other."""
    provider = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}])
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        together = [asyncio.create_task(ask(runtime)), asyncio.create_task(ask(runtime, **other))]
        await provider.started.wait()
        provider.gate.set()
        await asyncio.gather(*together)
        assert len(provider.calls) == 2
    after = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}])
    async with FrontendKnowledgeRuntime(after) as runtime:
        await ask(runtime)
        await ask(runtime, **other)
        assert len(after.calls) == 2
        await ask(runtime, "Release policy?")
        assert len(after.calls) == 2


async def test_failures_are_not_cached() -> None:
    """The next call asks again."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider) as runtime:
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"


async def test_without_a_time_to_live_nothing_is_cached() -> None:
    """A host may turn the cache off."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider, cache_ttl_seconds=0) as runtime:
        await ask(runtime)
        await ask(runtime)
    assert len(provider.calls) == 2


async def test_forgetting_one_owner_leaves_the_others_answers() -> None:
    """A removed document is gone from the cache at once."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner)
        runtime.forget("ann")
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner)
        assert [context.owner_id for _, context in provider.calls] == ["ann", "ben", "ann"]
        runtime.forget()
        await ask(runtime, owner_id="ben")
        assert len(provider.calls) == 4


@pytest.mark.parametrize("session", ["", "s"])
async def test_an_answer_on_its_way_while_documents_change_is_not_kept(session: str) -> None:
    """It was found before the change; neither cache nor session remembers it."""
    provider = Provider()
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime, session_id=session))
        await provider.started.wait()
        runtime.forget("ann")
        provider.gate.set()
        assert (await caller).status == "ok"
        await ask(runtime, session_id=session)
    assert len(provider.calls) == 2


async def test_a_session_forgets_what_it_asked_when_documents_change() -> None:
    """What would serve nearly the same question is gone as well, of this owner alone."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner, session_id="s")
        runtime.forget("ann")
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner, session_id="s")
    assert [context.owner_id for _, context in provider.calls] == ["ann", "ben", "ann"]


async def test_empty_answers_are_remembered_for_their_own_shorter_time() -> None:
    """A document that was just added is found soon."""
    provider = Provider([])
    async with FrontendKnowledgeRuntime(provider, empty_cache_ttl_seconds=0) as runtime:
        assert (await ask(runtime)).status == "no_results"
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"
        provider.answer = []
        assert (await ask(runtime)).status == "ok"
    assert len(provider.calls) == 2


async def test_a_citation_keeps_its_number_within_a_turn_only() -> None:
    """The same page is the same source in a turn, and numbering starts anew in the next."""
    other = {"id": "2", "content": "b", "source": {"uri": "https://docs.example.com/other"}}
    provider = Provider([other])
    async with FrontendKnowledgeRuntime(provider) as runtime:
        first = await ask(runtime, "one", turn_id="t")
        provider.answer = [PASSAGE, other]
        second = await ask(runtime, "two", turn_id="t")
        third = await ask(runtime, "two", turn_id="u")
    assert [result.citation for result in first.results] == ["source_1"]
    assert [result.citation for result in second.results] == ["source_2", "source_1"]
    assert [result.citation for result in third.results] == ["source_1", "source_2"]


# --- plain functions


@pytest.mark.parametrize("isolation", ["task", "thread"])
async def test_a_plain_retrieve_runs_in_a_thread(isolation: Any) -> None:
    """A provider need not be asynchronous."""
    threads: list[int] = []

    class Plain(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            threads.append(threading.get_ident())
            return [PASSAGE]

    async with FrontendKnowledgeRuntime(Plain(), isolation=isolation) as runtime:
        assert (await ask(runtime)).status == "ok"
    assert threads
    assert threading.get_ident() not in threads


async def test_a_plain_retrieve_may_return_something_to_await() -> None:
    """Many providers hand on the coroutine of their client."""

    class HandsOn(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return super().retrieve(request, context)

    provider = HandsOn()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        assert (await ask(runtime)).status == "ok"
    assert len(provider.calls) == 1


async def test_a_plain_retrieve_learns_of_the_cancellation_from_its_context() -> None:
    """A thread cannot be cancelled, but it can look."""
    started, seen = threading.Event(), threading.Event()

    class Plain(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            started.set()
            if context.cancelled.wait(5):  # type: ignore[attr-defined]
                seen.set()
            return []

    async with FrontendKnowledgeRuntime(Plain()) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime))
        await asyncio.to_thread(started.wait, 5)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert await asyncio.to_thread(seen.wait, 5)


# --- closing


async def test_the_provider_is_closed_once_however_often_it_is_asked_for() -> None:
    """Once, with concurrent and repeated closing, and also when the start after it failed."""
    provider = Provider()
    runtime = FrontendKnowledgeRuntime(provider)
    with pytest.raises(OSError, match="port is busy"):
        async with runtime:
            raise OSError("port is busy")
    await asyncio.gather(runtime.aclose(), runtime.aclose())
    assert provider.closed == 1


async def test_calls_in_flight_are_settled_when_it_closes() -> None:
    """They end as unavailable, their callers are not cancelled, and later ones are refused."""
    provider = Provider()
    provider.gate.clear()
    runtime = FrontendKnowledgeRuntime(provider)
    async with asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime))
        await provider.started.wait()
        await runtime.aclose()
        with pytest.raises(ProviderUnavailable):
            await caller
        with pytest.raises(ProviderUnavailable, match="is closed"):
            await ask(runtime)
        await provider.cancelled.wait()
    assert (await runtime.health()).status == "unavailable"
    assert provider.closed == 1


@pytest.mark.parametrize("isolation", ["task", "thread"])
async def test_a_close_that_hangs_is_left_behind(isolation: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Closing has a bound on its time."""

    class Hangs(Provider):
        async def close(self) -> None:
            await asyncio.Event().wait()

    async with asyncio.timeout(5):
        await FrontendKnowledgeRuntime(Hangs(), isolation=isolation, close_timeout_seconds=0.02).aclose()
    assert "did not close within 0.02 s" in caplog.text


def test_a_process_ends_although_its_provider_ignores_cancellation() -> None:
    """After closing, nothing of the provider holds up the end of the event loop."""
    released = threading.Event()

    class Ignores(Provider):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            while not released.is_set():
                try:
                    await asyncio.sleep(0.005)
                except asyncio.CancelledError:
                    continue

    async def main() -> None:
        async with FrontendKnowledgeRuntime(Ignores(), timeout_seconds=0.02) as runtime:
            with pytest.raises(RetrievalTimedOut):
                await ask(runtime)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    thread.join(5)
    ended = not thread.is_alive()
    released.set()
    assert ended


async def test_a_close_that_raises_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """The gateway goes on closing."""

    class Raises(Provider):
        async def close(self) -> None:
            raise OSError("token=hunter2")

    await FrontendKnowledgeRuntime(Raises()).aclose()
    assert "failed to close: OSError" in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_plain_close_is_called_too() -> None:
    """In a thread, because it may block."""
    closed: list[int] = []

    class Plain(Provider):
        def close(self) -> None:  # type: ignore[override]
            closed.append(threading.get_ident())

    await FrontendKnowledgeRuntime(Plain()).aclose()
    assert len(closed) == 1
    assert closed[0] != threading.get_ident()


async def test_a_provider_without_close_needs_none() -> None:
    """close() is optional."""

    class Bare:
        def describe(self) -> Any:
            return {"protocolVersion": 1, "key": "bare", "label": "Bare"}

        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return []

    async with FrontendKnowledgeRuntime(Bare()) as runtime:
        assert (await ask(runtime)).status == "no_results"
        assert (await runtime.health()).status == "ready"


def test_a_wrong_provider_fails_when_it_is_mounted() -> None:
    """Composition, not a voice turn."""
    with pytest.raises(ProviderContractError):
        FrontendKnowledgeRuntime(object())  # type: ignore[arg-type]


# --- health


class Health(Provider):
    """Answers health checks as the test says."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._health = answer

    async def health(self) -> Any:
        if isinstance(self._health, BaseException):
            raise self._health
        return self._health


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"status": "ready"}, "ready"),
        ({"status": "degraded", "message": "slow"}, "degraded"),
        ({"status": "fine"}, "unavailable"),
        ({}, "unavailable"),
        (None, "unavailable"),
        ("ready", "unavailable"),
        (OSError("password=hunter2"), "unavailable"),
        (SystemExit(1), "unavailable"),
        ({"status": "ready", "message": "m" * 9000}, "ready"),
    ],
)
async def test_health_is_always_an_answer(answer: Any, status: str) -> None:
    """Whatever health() does, an operator sees one of four states and no secret."""
    async with FrontendKnowledgeRuntime(Health(answer)) as runtime:
        health = await runtime.health()
    assert health.status == status
    assert "hunter2" not in health.message


@pytest.mark.parametrize("isolation", ["task", "thread"])
async def test_a_health_check_that_hangs_hinders_neither_search_nor_close(isolation: Any) -> None:
    """It is bounded, the next is not started while it hangs, and everything else goes on."""
    released = threading.Event()
    checks: list[int] = []

    class Hangs(Provider):
        async def health(self) -> Any:
            checks.append(1)
            while not released.is_set():
                try:
                    await asyncio.sleep(0.005)
                except asyncio.CancelledError:
                    continue

    provider = Hangs()
    async with asyncio.timeout(5):
        async with FrontendKnowledgeRuntime(provider, isolation=isolation, timeout_seconds=0.05) as runtime:
            first = await runtime.health()
            second = await runtime.health()
            assert (await ask(runtime)).status == "ok"
        released.set()
    assert (first.status, first.message) == ("unavailable", "The health check did not end in time.")
    assert second.message == "An earlier health check has not ended."
    assert len(checks) == 1
    assert provider.closed == 1
