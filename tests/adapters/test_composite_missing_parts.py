"""A part that is late, fails or misbehaves is named, and costs nobody else anything."""

import asyncio
import time
from typing import Any

import pytest

from knowledge_provider import (
    ProviderUnauthorized,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)
from tests.adapters.asking import context_for, everything_about, request_for, until
from tests.adapters.composite_parts import Scripted, composite, ids


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
        await until(lambda: len(asyncio.all_tasks()) == 1)


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
        await until(lambda: len(asyncio.all_tasks()) == 1)
    assert [part.cancelled for part in parts.values()] == [100, 100]


async def test_a_part_that_answers_nonsense_is_missing() -> None:
    """No list of results is a failure of that part alone."""

    class Nonsense(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return "nonsense"

    answer = await composite({"wiki": Scripted("a"), "odd": Nonsense()}).retrieve(request_for(), context_for())
    assert answer["partial"] == ["odd"]
