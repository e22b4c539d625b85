"""One provider, mounted: each of its methods behind a time limit, each of its failures one of the contract's errors."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import ValidationError

from knowledge_provider import (
    KnowledgeRetrievalProvider,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
)

from .composition import checked_description
from .isolation import Abandoned, DeadlinePassed, ForeignFailure, Isolation, IsolationMode, TooManyAbandoned
from .plain_answer import is_plain
from .stop_signal import StopSignal
from .text import clean_text

_logger = logging.getLogger(__name__)

Read = TypeVar("Read")

MAX_HEALTH_MESSAGE = 500


class MountedProvider:
    """The only place that touches a provider. Raises `ProviderContractError` when it cannot be mounted."""

    def __init__(
        self,
        provider: KnowledgeRetrievalProvider,
        *,
        isolation: IsolationMode = "task",
        max_abandoned: int = 16,
        max_threads: int = 16,
    ) -> None:
        self.description = checked_description(provider)
        self.abandoned = Abandoned(max_abandoned)
        self._checkups = Abandoned(1)
        self._provider = provider
        self._isolation = Isolation(isolation, name=self.description.key, max_threads=max_threads)
        self._retrieve_is_async = _is_async(provider.retrieve)

    @property
    def key(self) -> str:
        return self.description.key

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext, *, stopped: StopSignal) -> Any:
        """Return what the provider answers, unread. Raises `RetrievalError`.

        ``stopped`` is set when nobody waits any more; the provider sees it as ``context.cancelled``.
        """
        context = replace(context, cancelled=stopped)
        limits = _Limits(self._isolation, self.abandoned, stopped, context)
        with self._typed_errors(context):
            value = await limits.run(
                lambda: self._provider.retrieve(request, context), is_async=self._retrieve_is_async
            )
            if not inspect.isawaitable(value):
                return value
            coroutine = value
            return await limits.run(lambda: coroutine, is_async=True)

    async def read(
        self, answer: Any, reader: Callable[[Any], Read], context: RetrievalContext, *, stopped: StopSignal
    ) -> Read:
        """Return ``reader(answer)``, in a worker thread and within the deadline where reading runs the provider's code.

        Raises `RetrievalError`.
        """
        if is_plain(answer):
            return reader(answer)
        limits = _Limits(self._isolation, self.abandoned, stopped, context)
        with self._typed_errors(context):
            found: Read = await limits.run(lambda: reader(answer), is_async=False)
            return found

    @contextmanager
    def _typed_errors(self, context: RetrievalContext) -> Iterator[None]:
        timeout_seconds = context.remaining_seconds()
        try:
            yield
        except DeadlinePassed:
            raise RetrievalTimedOut(self.key, timeout_seconds=round(timeout_seconds, 3)) from None
        except TooManyAbandoned:
            raise ProviderUnavailable(self.key, f"has {self.abandoned.count} calls that do not stop") from None
        except ForeignFailure as failure:
            raise self._translated(failure.__cause__, context.trace_id) from failure.__cause__

    async def health(self, *, seconds: float) -> ProviderHealth:
        """Ask the provider how it is; every failure, and no answer in time, is an answer as well."""
        method = getattr(self._provider, "health", None)
        if method is None:
            return ProviderHealth(status="ready")
        try:
            answer = await self._bounded(method, seconds, self._checkups)
        except DeadlinePassed:
            return _unavailable("The health check did not end in time.")
        except TooManyAbandoned:
            return _unavailable("An earlier health check has not ended.")
        except ForeignFailure as failure:
            return _unavailable(f"The health check failed with {type(failure.__cause__).__name__}.")
        return _checked_health(answer)

    async def close(self, *, seconds: float) -> None:
        """Close the provider, for at most so long, and let go of every call and thread. Never raises its failure."""
        method = getattr(self._provider, "close", None)
        closing = Abandoned(1)
        try:
            if method is not None:
                await self._bounded(method, seconds, closing)
        except DeadlinePassed:
            _logger.warning("Provider %r did not close within %g s; it was left behind.", self.key, seconds)
        except ForeignFailure as failure:
            _logger.warning("Provider %r failed to close: %s.", self.key, _place(failure.__cause__))
        finally:
            for calls in (self.abandoned, self._checkups, closing):
                calls.give_up()
            self._isolation.close()

    async def _bounded(self, method: Any, seconds: float, abandoned: Abandoned) -> Any:
        run = self._isolation.run_async if _is_async(method) else self._isolation.run_plain
        value = await run(method, seconds=seconds, stopped=StopSignal(), abandoned=abandoned)
        if not inspect.isawaitable(value):
            return value
        return await self._isolation.run_async(
            lambda: value, seconds=seconds, stopped=StopSignal(), abandoned=abandoned
        )

    def _translated(self, cause: BaseException | None, trace_id: str) -> RetrievalError:
        if isinstance(cause, RetrievalError):
            return cause
        # The type and the place, never the text: vendors quote keys, passwords and other people's data in theirs.
        _logger.warning("Provider %r failed: %s (trace %s).", self.key, _place(cause), trace_id or "none")
        return ProviderUnavailable(self.key, "failed")


class _Limits:
    """What all steps of one retrieval share."""

    def __init__(
        self, isolation: Isolation, abandoned: Abandoned, stopped: StopSignal, context: RetrievalContext
    ) -> None:
        self._isolation = isolation
        self._abandoned = abandoned
        self._stopped = stopped
        self._context = context

    async def run(self, call: Any, *, is_async: bool) -> Any:
        run = self._isolation.run_async if is_async else self._isolation.run_plain
        left = self._context.remaining_seconds()
        return await run(call, seconds=left, stopped=self._stopped, abandoned=self._abandoned)


def _is_async(method: Any) -> bool:
    return inspect.iscoroutinefunction(inspect.unwrap(method)) or asyncio.iscoroutinefunction(method)


def _checked_health(answer: Any) -> ProviderHealth:
    try:
        fields = dict(answer)
        status, message = fields.get("status"), str(fields.get("message") or "")
        return ProviderHealth(status=status, message=clean_text(message)[:MAX_HEALTH_MESSAGE])
    except (TypeError, ValueError, ValidationError):
        return _unavailable("The health check returned no ProviderHealth.")


def _unavailable(message: str) -> ProviderHealth:
    return ProviderHealth(status="unavailable", message=message)


def _place(error: BaseException | None) -> str:
    trace = error.__traceback__ if error else None
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__qualname__}{where}"


__all__ = ["MountedProvider"]
