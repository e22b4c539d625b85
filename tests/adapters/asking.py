"""How the tests of the adapters ask: requests, contexts, and waits for what threads and servers do."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from knowledge_provider import RetrievalContext, RetrievalRequest


def request_for(query: str = "release policy", **fields: Any) -> RetrievalRequest:
    """Make a request: ``request_for("query", top_k=3, filters={...})``."""
    return RetrievalRequest(query=query, **fields)


def context_for(owner_id: str = "ann", seconds: float = 30.0) -> RetrievalContext:
    """Make a trusted context: ``context_for("ann", seconds=5)``."""
    deadline = time.monotonic() + seconds
    return RetrievalContext(owner_id=owner_id, session_id="s-1", turn_id="t-1", trace_id="trace-1", deadline=deadline)


def everything_about(error: BaseException) -> str:
    """All that a log line or a model could show of an error of ours: its text, repr and attributes."""
    return f"{error} {error!r} {vars(error)}"


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something that threads change is true; twenty seconds are the bound, not a measure."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - threads of a vendor set no asyncio event
            await asyncio.sleep(0.001)


def subclasses_of(*kinds: type[Exception]) -> list[type[Exception]]:
    """These exceptions and all that were made from them, by name."""
    found: set[type[Exception]] = set()
    todo = list(kinds)
    while todo:
        kind = todo.pop()
        todo += type.__subclasses__(kind)
        found.add(kind)
    return sorted(found, key=lambda kind: kind.__name__)
