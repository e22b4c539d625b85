"""`FunctionProvider` asks any function and keeps the gateway safe from it."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from adapters.function import FunctionProvider
from knowledge_provider import (
    ProviderHealth,
    ProviderUnavailable,
    RawResults,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)
from tests.adapters.asking import context_for, everything_about, request_for, until


def provider(function: Any, **options: Any) -> FunctionProvider:
    return FunctionProvider(function, key="notes", label="Notes", **options)


async def echo(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
    await asyncio.sleep(0)
    return [{"id": context.owner_id, "content": f"{request.query} for {context.owner_id}"}]


async def test_an_async_function_is_asked_with_both_arguments() -> None:
    """The function sees what the model proposed and, apart from it, who asks."""
    answer = await provider(echo).retrieve(request_for("rules"), context_for("ann"))
    assert answer == [{"id": "ann", "content": "rules for ann"}]


async def test_a_plain_function_blocks_its_own_thread_and_never_the_loop() -> None:
    """Code that only knows how to block runs in threads of the provider's own."""
    release = threading.Event()
    started = threading.Event()

    def slow(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        started.set()
        assert release.wait(20)
        return [{"id": "1", "content": threading.current_thread().name}]

    async with asyncio.timeout(15):
        call = asyncio.create_task(provider(slow).retrieve(request_for(), context_for()))
        await until(started.is_set)
        release.set()  # only a loop that goes on can let the function go
        answer = await call
    assert answer == [{"id": "1", "content": "earpiece-notes"}]


async def test_context_variables_reach_the_thread() -> None:
    """Tracing and request-local state of the host work in a plain function too."""
    trace = contextvars.ContextVar("trace", default="none")
    trace.set("mine")
    answer = await provider(lambda request, context: [{"id": trace.get()}]).retrieve(request_for(), context_for())
    assert answer == [{"id": "mine"}]


async def test_cancelling_frees_the_caller_and_full_threads_refuse_at_once() -> None:
    """Abandoned calls keep their threads; once they hold all, a new call is refused instead of waiting for ever."""
    release = threading.Event()
    running: list[int] = []

    def stuck(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        running.append(1)
        release.wait(10)
        return []

    notes = provider(stuck, workers=2)
    async with asyncio.timeout(20):
        calls = [asyncio.create_task(notes.retrieve(request_for(), context_for())) for _ in range(2)]
        await until(lambda: running == [1, 1])
        for call in calls:
            call.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True)
        )
        with pytest.raises(ProviderUnavailable, match="2 calls still run"):
            await notes.retrieve(request_for(), context_for())
        release.set()
        await until(lambda: notes._threads.busy == 0)
    assert notes._threads.abandoned == 0


async def test_a_hundred_barge_ins_leave_no_thread_behind() -> None:
    """Calls cancelled while they stand in line never run, and the pool is idle afterwards."""
    release = threading.Event()
    ran = 0

    def count(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        nonlocal ran
        ran += 1
        release.wait(10)
        return []

    notes = FunctionProvider(count, key="barged-in", label="Notes", workers=2)
    async with asyncio.timeout(30):
        holding = asyncio.create_task(notes.retrieve(request_for(), context_for()))
        second = asyncio.create_task(notes.retrieve(request_for(), context_for()))
        await until(lambda: ran == 2)
        for _ in range(100):
            call = asyncio.create_task(notes.retrieve(request_for(), context_for()))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert notes._threads.busy == 2
        release.set()
        await asyncio.gather(holding, second)
        await until(lambda: notes._threads.busy == 0)
        await notes.close()
        await until(lambda: "earpiece-barged-in" not in {thread.name for thread in threading.enumerate()})
    assert ran == 2


async def test_two_owners_asking_at_once_never_see_each_other() -> None:
    """Fifty calls of each owner, mid-flight together, come back to the owner who asked."""
    owners = ["ann", "bob"] * 50
    notes = provider(echo)
    answers = await asyncio.gather(*(notes.retrieve(request_for(), context_for(owner)) for owner in owners))
    assert [answer[0]["id"] for answer in answers] == owners  # type: ignore[index]


async def test_filters_are_refused_unless_the_host_says_they_are_applied() -> None:
    """A filter that would be ignored would widen the search."""
    with pytest.raises(UnsupportedFilters):
        await provider(echo).retrieve(request_for(filters={"team": "a"}), context_for())
    assert await provider(echo, filters=True).retrieve(request_for(filters={"team": "a"}), context_for())


async def test_the_deadline_of_the_caller_holds() -> None:
    """The smaller of the provider's own timeout and the caller's deadline ends the call."""

    async def never(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        await asyncio.Event().wait()
        return []

    async with asyncio.timeout(20):
        with pytest.raises(RetrievalTimedOut):
            await provider(never).retrieve(request_for(), context_for(seconds=0.01))
        with pytest.raises(RetrievalTimedOut):
            await provider(never, timeout_seconds=0.01).retrieve(request_for(), context_for())
        with pytest.raises(RetrievalTimedOut):
            await provider(echo).retrieve(request_for(), context_for(seconds=-1))


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (ValueError("password=hunter2"), "knowledge_internal"),
        (ConnectionRefusedError("password=hunter2"), "knowledge_unavailable"),
        (TimeoutError("password=hunter2"), "knowledge_timeout"),
        (StopIteration("password=hunter2"), "knowledge_internal"),
        (ProviderUnavailable("notes", "rests"), "knowledge_unavailable"),
    ],
)
@pytest.mark.parametrize("blocking", [True, False])
async def test_an_exception_becomes_one_of_ours_without_its_text(raised: Exception, code: str, blocking: bool) -> None:
    """Vendor text carries keys and passwords; it stays in the cause."""

    def plain(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        raise raised

    async def coroutine(request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        raise raised

    async with asyncio.timeout(20):
        with pytest.raises(RetrievalError) as caught:
            await provider(plain if blocking else coroutine).retrieve(request_for(), context_for())
    assert caught.value.code == code
    assert "hunter2" not in everything_about(caught.value)


async def test_health_and_close_are_the_hosts() -> None:
    """The host's own check and its own closing are used; a closed provider refuses calls that need a thread."""
    closed: list[str] = []

    async def degraded() -> ProviderHealth:
        return ProviderHealth(status="degraded", message="index is rebuilt")

    notes = provider(lambda request, context: [], health=degraded, close=lambda: closed.append("once"))
    assert (await notes.health()).status == "degraded"
    await notes.close()
    assert closed == ["once"]
    with pytest.raises(ProviderUnavailable, match="is closed"):
        await notes.retrieve(request_for(), context_for())
    assert (await provider(echo).health()).ok


def test_what_is_not_a_function_is_refused_at_composition() -> None:
    """A wrong object fails when the provider is built, not in a voice turn."""
    with pytest.raises(TypeError, match="not list"):
        provider([])
    with pytest.raises(ValueError, match="key"):
        FunctionProvider(echo, key="Not A Key", label="Notes")
