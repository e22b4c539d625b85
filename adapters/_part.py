"""One part of a composite: asked within its share of the time, left alone for a while when it keeps failing."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from knowledge_provider import (
    InvalidRetrievalRequest,
    InvalidRetrievalResult,
    KnowledgeResult,
    KnowledgeRetrievalProvider,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalRequest,
)

from ._failures import vendor_call
from ._rows import results_of
from ._threads import BoundedThreads

Found = tuple[list[KnowledgeResult], tuple[str, ...]]
"""The results of a part and, when it is a composite itself, the names of its parts that are missing."""


class Part:
    """A provider under its name. Calls are counted: ``failures`` in a row, and it rests for ``rest_seconds``."""

    def __init__(
        self,
        name: str,
        provider: KnowledgeRetrievalProvider,
        *,
        share_seconds: float,
        failures: int,
        rest_seconds: float,
        hedge_after_seconds: float | None,
    ) -> None:
        self.name = name
        self.description = ProviderDescription.model_validate(provider.describe(), from_attributes=True)
        self._provider: Any = provider
        self._is_async = inspect.iscoroutinefunction(provider.retrieve)
        self.share_seconds = share_seconds
        self._failures = failures
        self._rest_seconds = rest_seconds
        self._hedge_after_seconds = hedge_after_seconds
        self._threads = BoundedThreads(name)
        self._failed_in_a_row = 0
        self._rests_until = 0.0

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Found:
        """Return what the part found; raises its error, or `ProviderUnavailable` at once while it rests."""
        rest = self._rests_until - time.monotonic()
        if rest > 0:
            raise ProviderUnavailable(self.name, "rests after repeated failures", retry_after_seconds=rest)
        deadline = min(context.deadline, time.monotonic() + self.share_seconds)
        own = replace(context, deadline=deadline)
        try:
            async with vendor_call(self.name, own, self.share_seconds):
                found = self._read(await self._hedged(request, own))
        except InvalidRetrievalRequest:  # the request's fault, not the part's
            raise
        except Exception:
            self._failed()
            raise
        self._failed_in_a_row = 0
        return found

    def _failed(self) -> None:
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= self._failures:
            self._rests_until = time.monotonic() + self._rest_seconds
            self._failed_in_a_row = self._failures - 1  # after the rest one more failure is enough

    async def _hedged(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """Ask, and once more when there is no answer after ``hedge_after_seconds``; the first success counts."""
        tries = {asyncio.ensure_future(self._retrieve(request, context))}
        try:
            if self._hedge_after_seconds is not None:
                done, _ = await asyncio.wait(tries, timeout=self._hedge_after_seconds)
                if not done:
                    tries.add(asyncio.ensure_future(self._retrieve(request, context)))
            waiting = tries
            while True:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                succeeded = [attempt for attempt in done if not attempt.cancelled() and attempt.exception() is None]
                if succeeded or not waiting:
                    return (succeeded or list(done))[0].result()
        finally:
            for attempt in tries:
                attempt.cancel()
                attempt.add_done_callback(_heard)

    async def _retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        if self._is_async:
            return await self._provider.retrieve(request, context)
        answer = await self._threads.run(lambda: self._provider.retrieve(request, context))
        return await answer if inspect.isawaitable(answer) else answer

    def _read(self, answer: Any) -> Found:
        missing: tuple[str, ...] = ()
        if isinstance(answer, Mapping):
            names = answer.get("partial", ())
            missing = tuple(f"{self.name}/{name}" for name in names if isinstance(name, str))
            answer = answer.get("results")
        if not isinstance(answer, list | tuple):
            raise InvalidRetrievalResult(self.name, "no list of results")
        return results_of(answer), missing

    async def health(self) -> ProviderHealth:
        """What the part says of itself within its share of time; ready when it says nothing."""
        check: Callable[[], Awaitable[ProviderHealth]] | None = getattr(self._provider, "health", None)
        if check is None:
            return ProviderHealth(status="ready")
        try:
            async with asyncio.timeout(self.share_seconds):
                return ProviderHealth.model_validate(await check(), from_attributes=True)
        except Exception:
            return ProviderHealth(status="unavailable")

    async def close(self) -> None:
        self._threads.close()
        closing = self._provider.close() if hasattr(self._provider, "close") else None
        if inspect.isawaitable(closing):
            await closing


def _heard(attempt: "asyncio.Future[Any]") -> None:
    if not attempt.cancelled():
        attempt.exception()


__all__ = ["Found", "Part"]
