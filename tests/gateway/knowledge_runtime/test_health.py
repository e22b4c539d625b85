"""Health is always an answer."""

import asyncio
import threading
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from tests.gateway.knowledge_runtime.provider import Provider, ask


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
    try:
        async with (
            asyncio.timeout(5),
            FrontendKnowledgeRuntime(provider, isolation=isolation, timeout_seconds=0.05) as runtime,
        ):
            first = await runtime.health()
            second = await runtime.health()
            assert (await ask(runtime)).status == "ok"
    finally:
        released.set()
    assert (first.status, first.message) == ("unavailable", "The health check did not end in time.")
    assert second.message == "An earlier health check has not ended."
    assert len(checks) == 1
    assert provider.closed == 1
