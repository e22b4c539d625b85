"""A silent part may be asked a second time."""

import asyncio
from typing import Any

import pytest

from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest, RetrievalTimedOut
from tests.adapters.asking import context_for, request_for, until
from tests.adapters.composite_parts import Scripted, composite, ids


async def test_a_silent_part_is_asked_a_second_time_when_the_host_wants_it() -> None:
    """The first answer counts, the other try is cancelled; without the option there is one try."""

    class SilentOnce(Scripted):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            self.hold = asyncio.Event() if not self.asked else None
            return await super().retrieve(request, context)

    part = SilentOnce("a")
    async with asyncio.timeout(20):
        answer = await composite({"wiki": part}, hedge_after_seconds=0.02).retrieve(request_for(), context_for())
        await until(lambda: part.cancelled == 1)
    assert ids(answer) == ["wiki:a"]
    assert len(part.asked) == 2
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
    async with asyncio.timeout(20):
        await asyncio.wait([call])
    assert call.cancelled()
    await until(lambda: len(asyncio.all_tasks()) == 1)
    assert silent.cancelled == 2
