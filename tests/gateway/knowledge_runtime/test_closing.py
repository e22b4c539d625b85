"""Closing is done once, within a bound, and settles what is under way."""

import asyncio
import threading
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest, RetrievalTimedOut
from tests.gateway.knowledge_runtime.provider import Provider, ask


async def test_the_provider_is_closed_once_however_often_it_is_asked_for() -> None:
    """Once, with concurrent and repeated closing, and also when the start after it failed."""
    provider = Provider()
    runtime = FrontendKnowledgeRuntime(provider)
    with pytest.raises(OSError, match="port is busy"):
        async with runtime:
            raise OSError("port is busy")
    async with asyncio.timeout(5):
        await asyncio.gather(runtime.aclose(), runtime.aclose())
    assert provider.closed == 1


async def test_calls_in_flight_are_settled_when_it_closes() -> None:
    """They end as unavailable, their callers are not cancelled, and later ones are refused."""
    provider = Provider(held=True)
    runtime = FrontendKnowledgeRuntime(provider, timeout_seconds=60)
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
