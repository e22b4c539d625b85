"""One call to a vendor: its deadline, and its exceptions in the words of the contract.

Vendor text never reaches a message of ours, since it quotes keys, passwords and other people's data; the vendor's
exception stays reachable as ``__cause__``.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

from knowledge_provider import (
    InvalidRetrievalRequest,
    InvalidRetrievalResult,
    KnowledgeNotFound,
    ProviderForbidden,
    ProviderRateLimited,
    ProviderUnauthorized,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalTimedOut,
)

Translate = Callable[[Exception, str], RetrievalError | None]
"""A vendor's own table: its exception and the provider's key -> our error, or None for the general rules."""

OurError = Callable[[str], RetrievalError]
"""Makes one of our errors for a provider's key; most of our classes are one themselves."""

_BY_STATUS: dict[int, type[ProviderUnavailable]] = {
    401: ProviderUnauthorized,
    403: ProviderForbidden,
    404: KnowledgeNotFound,
    407: ProviderUnauthorized,
    410: KnowledgeNotFound,
    429: ProviderRateLimited,
}


def for_status(status: int, provider: str, *, retry_after_seconds: float | None = None) -> RetrievalError:
    """Return our error for an HTTP status that is not a success."""
    if status == 408 or status == 504:
        return RetrievalTimedOut(provider)
    if status in _BY_STATUS:
        return _BY_STATUS[status](provider, retry_after_seconds=retry_after_seconds)
    if status >= 500:
        return ProviderUnavailable(provider, f"failed with HTTP {status}", retry_after_seconds=retry_after_seconds)
    if status >= 400:
        return refused(provider)
    return InvalidRetrievalResult(provider, f"HTTP {status}")


def retrieval_error(error: BaseException, provider: str) -> RetrievalError:
    """Return our error for any exception of a library, by what it is and what caused it."""
    for cause in _chain(error):
        if isinstance(cause, RetrievalError):
            return cause
        name = type(cause).__name__
        if isinstance(cause, TimeoutError) or "Timeout" in name:
            return RetrievalTimedOut(provider)
        if (status := _status(cause)) is not None:
            return for_status(status, provider)
        if isinstance(cause, OSError) or "Connect" in name:
            return ProviderUnavailable(provider, "cannot be reached")
    return failed(provider)


def by_name(table: Mapping[str, OurError]) -> Translate:
    """Make a `Translate` from names of exception classes, so that a vendor's table needs no import of the vendor."""

    def translate(error: Exception, provider: str) -> RetrievalError | None:
        for cause in _chain(error):
            for kind in type(cause).__mro__:
                if kind.__name__ in table:
                    return table[kind.__name__](provider)
        return None

    return translate


def refused(provider: str) -> RetrievalError:
    """The system understood and does not want the request."""
    return InvalidRetrievalRequest(f"Provider {provider!r} refused the request.")


def unreadable(provider: str) -> RetrievalError:
    """The system answered with something that is not an answer."""
    return InvalidRetrievalResult(provider, "something that cannot be read")


def failed(provider: str) -> RetrievalError:
    """The system, or the code around it, broke in a way that says nothing more."""
    return RetrievalError(f"Provider {provider!r} failed; the log has its cause.")


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < 32:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        waiting += [cause for cause in (current.__cause__, current.__context__) if cause is not None]


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for found in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
        if isinstance(found, int) and not isinstance(found, bool) and found >= 400:
            return found
    return None


@asynccontextmanager
async def vendor_call(
    provider: str, context: RetrievalContext, timeout_seconds: float, translate: Translate | None = None
) -> AsyncIterator[None]:
    """Bound a call by its own timeout and the caller's deadline; turn what it raises into our errors."""
    seconds = min(timeout_seconds, context.remaining_seconds())
    if seconds <= 0:
        raise RetrievalTimedOut(provider)
    clock = asyncio.timeout(None if math.isinf(seconds) else seconds)
    try:
        async with clock:
            yield
    except RetrievalError:
        raise
    except Exception as error:
        if clock.expired():
            raise RetrievalTimedOut(provider, timeout_seconds=round(seconds, 3)) from error
        known = translate(error, provider) if translate is not None else None
        raise known or retrieval_error(error, provider) from error


__all__ = [
    "OurError",
    "Translate",
    "by_name",
    "failed",
    "for_status",
    "refused",
    "retrieval_error",
    "unreadable",
    "vendor_call",
]
