"""Providers that answer at once, or take their time in each of the three ways there are."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

RESULT = [{"id": "1", "content": "Releases require two reviewers.", "source": {"title": "Release handbook"}}]


class Instant:
    """Answers at once."""

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "bench", "label": "Benchmark"}

    async def retrieve(self, request: Any, context: Any) -> Any:
        return RESULT


class SlowAsync(Instant):
    """Waits as a well-behaved client does; ``stopped`` is told when it is cancelled."""

    def __init__(self, seconds: float, stopped: Callable[[str], None] = lambda query: None) -> None:
        self._seconds = seconds
        self._stopped = stopped

    async def retrieve(self, request: Any, context: Any) -> Any:
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self._stopped(request.query)
            raise
        return RESULT


class SlowSync(Instant):
    """Blocks its thread, as most vendor clients do."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def retrieve(self, request: Any, context: Any) -> Any:
        time.sleep(self._seconds)
        return RESULT


class SlowBlockingAsync(Instant):
    """Claims to be asynchronous and blocks its event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def retrieve(self, request: Any, context: Any) -> Any:
        time.sleep(self._seconds)  # noqa: ASYNC251
        return RESULT


__all__ = ["RESULT", "Instant", "SlowAsync", "SlowBlockingAsync", "SlowSync"]
