"""No provider takes longer than its deadline, however it answers."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Literal

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest, RetrievalTimedOut
from tests.gateway.knowledge_runtime.provider import PASSAGE, Provider, ask


def endless() -> Iterator[Any]:
    return ({"id": str(number), "content": f"passage {number}"} for number in count())


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Lets what is stuck go on; when the test is over at the latest."""
    event = threading.Event()
    yield event
    event.set()


def stuck_generator(released: threading.Event) -> Callable[[], Iterator[Any]]:
    def generate() -> Iterator[Any]:
        yield PASSAGE
        released.wait()

    return generate


async def test_an_answer_after_the_deadline_is_a_timeout() -> None:
    """The caller hears of it within the bound; the late answer reaches nobody."""
    provider = Provider(held=True)
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


async def test_a_generator_that_blocks_meets_the_deadline_and_blocks_no_loop(released: threading.Event) -> None:
    """A lazy answer is the provider's code too."""
    async with FrontendKnowledgeRuntime(Provider(stuck_generator(released)), timeout_seconds=0.05) as runtime:
        async with asyncio.timeout(5):
            with pytest.raises(RetrievalTimedOut):
                await ask(runtime)
        assert runtime.abandoned == 1


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
    lazy: Callable[[threading.Event], Any], isolation: Literal["task", "thread"], released: threading.Event
) -> None:
    """Reading a query set runs the provider's code: off the loop, within the deadline, and counted."""
    provider = Provider(lazy(released))
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=0.05, isolation=isolation) as runtime:
        async with asyncio.timeout(5):
            with pytest.raises(RetrievalTimedOut):
                await ask(runtime)
        assert runtime.abandoned == 1


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


async def test_too_many_calls_that_do_not_stop_make_it_unavailable_at_once(released: threading.Event) -> None:
    """Abandoned calls are bounded; when they end the count falls and the provider is asked again."""

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
