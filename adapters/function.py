"""`FunctionProvider`: any function of one's own, for the system that no other adapter knows."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from pydantic import Field

from knowledge_provider import (
    ProviderDescription,
    ProviderHealth,
    RawResults,
    RetrievalContext,
    RetrievalRequest,
    UnsupportedFilters,
)

from ._config import NamedConfig, imported, imported_options, read_config
from ._description import description
from ._failures import vendor_call
from ._threads import BoundedThreads

Retrieve = Callable[[RetrievalRequest, RetrievalContext], Awaitable[RawResults] | RawResults]
Close = Callable[[], Awaitable[None] | None]
Health = Callable[[], Awaitable[ProviderHealth]]


class FunctionProvider:
    """Asks ``function(request, context)`` and passes its answer on: results, plain dicts or ``{"results": [...]}``.

    An ``async def`` is awaited; a plain ``def`` runs in threads of this provider's own. The function must scope what it
    finds to ``context.owner_id``. With ``filters=False`` (the default) a request with filters is refused.
    """

    def __init__(
        self,
        function: Retrieve,
        *,
        key: str,
        label: str,
        filters: bool = False,
        scores: bool = False,
        health: Health | None = None,
        close: Close | None = None,
        timeout_seconds: float = 8.0,
        workers: int = 4,
        waiting: int = 32,
    ) -> None:
        if not callable(function):
            raise TypeError(f"FunctionProvider needs a function of (request, context), not {type(function).__name__}")
        if _yields(function):
            raise TypeError("FunctionProvider needs a function that returns its results; this one yields them")
        self._function = function
        self._is_async = _returns_awaitable(function)
        self._description = description(key, label, filters=filters, scores=scores)
        self._accepts_filters = filters
        self._health = health
        self._close = close
        self._timeout_seconds = timeout_seconds
        self._threads = BoundedThreads(key, workers=workers, waiting=waiting)

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        """Ask the function; errors of its own that are not ours become ours, with theirs as the cause."""
        if request.filters and not self._accepts_filters:
            raise UnsupportedFilters(self._description.key)
        async with vendor_call(self._description.key, context, self._timeout_seconds):
            return await self._answer(request, context)

    async def _answer(self, request: RetrievalRequest, context: RetrievalContext) -> RawResults:
        if self._is_async:
            return await cast(Awaitable[RawResults], self._function(request, context))
        answer = await self._threads.run(lambda: self._function(request, context))
        return await answer if inspect.isawaitable(answer) else answer

    async def health(self) -> ProviderHealth:
        """What the host's own check says; ready without one."""
        return ProviderHealth(status="ready") if self._health is None else await self._health()

    async def close(self) -> None:
        """Stop taking calls, then close what the host asked to be closed."""
        self._threads.close()
        closing: Any = self._close() if self._close is not None else None
        if inspect.isawaitable(closing):
            await closing


def _returns_awaitable(function: Callable[..., Any]) -> bool:
    return any(map(inspect.iscoroutinefunction, _bodies(function)))


def _yields(function: Callable[..., Any]) -> bool:
    return any(inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body) for body in _bodies(function))


def _bodies(function: Callable[..., Any]) -> tuple[Any, Any]:
    """The function itself, and what is run when it is an object that can be called."""
    return function, getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is inspected


class _FunctionConfig(NamedConfig):
    function: str
    filters: bool = False
    scores: bool = False
    health: str | None = None
    close: str | None = None
    workers: int = Field(default=4, ge=1)


def from_config(config: Mapping[str, Any]) -> FunctionProvider:
    """Build a `FunctionProvider` from settings; functions are named as "package.module:name"."""
    settings = read_config(_FunctionConfig, config, "function")
    values = settings.model_dump(exclude={"function", "health", "close"})
    hooks = imported_options({"health": settings.health, "close": settings.close}, "function")
    return FunctionProvider(imported(settings.function, "function"), **values, **hooks)


__all__ = ["FunctionProvider", "from_config"]
