"""From words to a lookup, on a loop whose clock is its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from gateway.listening import Listener
from gateway.prefetch import PrefetchPlanner
from knowledge_provider import RetrievalContext, RetrievalRequest

QUESTION = "how many reviewers does every release need"


class Provider:
    def __init__(self) -> None:
        self.queries: list[str] = []
        self.asked = asyncio.Event()

    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "search", "label": "Search"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.queries.append(request.query)
        self.asked.set()
        return [{"id": "1", "content": "Two."}]


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
async def runtime(provider: Provider) -> AsyncIterator[FrontendKnowledgeRuntime]:
    async with FrontendKnowledgeRuntime(provider) as runtime:
        yield runtime


def listener(runtime: FrontendKnowledgeRuntime, started: list[str], settle_seconds: float) -> Listener:
    planner = PrefetchPlanner(settle_seconds=settle_seconds)
    return Listener(runtime, owner_id="ann", session_id="s1", planner=planner, started=started.append)


async def test_pieces_of_a_transcript_lead_to_a_lookup_when_they_have_settled(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """The timer asks the planner; nobody else has to."""
    started: list[str] = []
    listening = listener(runtime, started, 0.01)
    for piece in ("how many reviewers ", "does every rel", "ease need"):
        listening.heard(piece)
    async with asyncio.timeout(5):
        await provider.asked.wait()
    assert provider.queries == started == [QUESTION]
    assert listening.counts.started == 1
    await runtime.search("number of reviewers every release needs", owner_id="ann", session_id="s1")
    assert provider.queries == [QUESTION]
    assert listening.counts.adopted == 1
    listening.close()


async def test_a_final_transcript_alone_is_enough(runtime: FrontendKnowledgeRuntime, provider: Provider) -> None:
    """Some upstreams send nothing before; then it is looked up at once."""
    started: list[str] = []
    listening = listener(runtime, started, 60)
    listening.finished(QUESTION)
    assert started == [QUESTION]
    listening.close()


async def test_the_end_of_speech_settles_the_words_so_far(runtime: FrontendKnowledgeRuntime) -> None:
    """Voice activity detection knows sooner than a pause of 0.4 s."""
    started: list[str] = []
    listening = listener(runtime, started, 60)
    listening.heard(QUESTION)
    assert started == []
    listening.finished()
    assert started == [QUESTION]
    listening.close()


async def test_each_turn_is_heard_and_counted_on_its_own(runtime: FrontendKnowledgeRuntime) -> None:
    """Words of the last question do not run into the next."""
    started: list[str] = []
    listening = listener(runtime, started, 60)
    listening.finished(QUESTION)
    listening.new_turn()
    assert listening.counts.started == 0
    listening.heard("and how long is the sensor warranty abroad")
    listening.finished()
    assert started == [QUESTION, "and how long is the sensor warranty abroad"]
    assert listening.counts.started == 1
    listening.close()


async def test_a_closed_listener_starts_nothing(runtime: FrontendKnowledgeRuntime, provider: Provider) -> None:
    """The conversation ended before the words had settled."""
    started: list[str] = []
    listening = listener(runtime, started, 0.0)
    listening.heard("how many reviewers does every")
    listening.close()
    timers = [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
    assert not [handle for handle in timers if "Listener" in repr(handle)]
