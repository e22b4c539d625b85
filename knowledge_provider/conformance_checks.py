"""The checks themselves: each takes a bench and returns a sentence, or raises `CheckFailed` with one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from .conformance import Bench, CheckFailed, called, settled
from .errors import RetrievalError, UnsupportedFilters
from .models import MAX_QUERY_CHARACTERS, MAX_TOP_K, PROTOCOL_VERSION, ProviderDescription, ProviderHealth

Check = Callable[[Bench], Awaitable[str]]

_STRANGE_QUERIES = ('"quotes" \\ and {braces}', "' OR 1=1 --", "报销 🧾 données", "x" * MAX_QUERY_CHARACTERS)
_GRACE_SECONDS = 1.0


async def description(bench: Bench) -> str:
    """describe() says who the provider is, in protocol 1."""
    async with bench.provider() as provider:
        raw = provider.describe()
    if not isinstance(raw, Mapping | ProviderDescription):
        raise CheckFailed(f"describe() returned {type(raw).__name__}; return a ProviderDescription or a dict.")
    try:
        described = ProviderDescription.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise CheckFailed(f"describe() has a wrong {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    if described.protocol_version != PROTOCOL_VERSION:
        raise CheckFailed(f"It speaks protocol {described.protocol_version}; say {PROTOCOL_VERSION}.")
    return f"{described.label} ({described.key}) speaks protocol {PROTOCOL_VERSION}."


async def shape(bench: Bench) -> str:
    """Answers are lists of results with an id, content and nothing malformed."""
    count = 0
    async with bench.provider() as provider:
        for query in bench.conditions.queries:
            results = await bench.ask(provider, query)
            if len({result.id for result in results}) < len(results):
                raise CheckFailed("Two results of one answer have the same id; the gateway would drop the second.")
            count += len(results)
    if not count:
        return "Every answer was empty, which is allowed; name queries that find something to see more."
    return f"{count} results, each with an id and content."


async def bounds(bench: Bench) -> str:
    """top_k is kept, and any text of legal length is an ordinary question."""
    async with bench.provider() as provider:
        for top_k in (1, MAX_TOP_K):
            for query in bench.conditions.queries:
                results = await bench.ask(provider, query, top_k=top_k)
                if len(results) > top_k:
                    raise CheckFailed(f"It returned {len(results)} results for top_k={top_k}; return at most top_k.")
        for query in _STRANGE_QUERIES:
            await _ask_strangely(bench, provider, query)
    return "top_k is kept, and quotes, other scripts and long queries are ordinary questions."


async def _ask_strangely(bench: Bench, provider: Any, query: str) -> None:
    try:
        await bench.ask(provider, query)
    except CheckFailed:
        raise
    except Exception as error:
        raise CheckFailed(f"It raised {type(error).__name__} for the query {query[:30]!r}.") from error


async def cancellation(bench: Bench) -> str:
    """A cancelled call ends at once, as cancelled, and the provider goes on answering."""
    query = bench.conditions.queries[0]
    cancelled = 0
    async with bench.provider() as provider:
        for pauses in range(1, 5):
            task = asyncio.create_task(bench.raw(provider, query))
            for _ in range(pauses):
                await asyncio.sleep(0)
            if not task.done():
                task.cancel()
                cancelled += await _ended_as_cancelled(task)
        await bench.ask(provider, query)
    if not cancelled:
        return "It answers too fast to be cancelled."
    return f"{cancelled} cancelled calls ended at once, and the next one was answered."


async def _ended_as_cancelled(task: "asyncio.Task[Any]") -> int:
    await asyncio.wait([task], timeout=_GRACE_SECONDS)
    if not task.done():
        raise CheckFailed("A cancelled call goes on; let CancelledError pass.")
    if not task.cancelled():
        raise CheckFailed("A cancelled call returned or raised something else; let CancelledError pass.")
    return 1


async def owner_isolation(bench: Bench) -> str:
    """An owner gets the same answer whoever asked before, at the same time, or is named in the request."""
    one, two = bench.conditions.owners
    query = bench.conditions.queries[0]
    alone = {owner: await _alone(bench, query, owner) for owner in (one, two)}
    async with bench.provider() as provider:
        for owner in (one, two, one):
            if _ids(await bench.ask(provider, query, owner=owner)) != alone[owner]:
                raise CheckFailed("An owner got another answer after someone else had asked; keep owners apart.")
        owners = [one, two] * 8
        answers = await asyncio.gather(*(bench.ask(provider, query, owner=owner) for owner in owners))
        if any(_ids(answer) != alone[owner] for owner, answer in zip(owners, answers, strict=True)):
            raise CheckFailed("Two owners who asked at the same time got mixed answers; keep no owner on the object.")
        await _claim_to_be(bench, provider, query, alone)
    if alone[one] == alone[two]:
        return (
            "Both owners get the same answer, alone and together; name owners with documents of their own to see more."
        )
    return "Each owner gets the same answer alone, after the other, and at the same time."


async def _alone(bench: Bench, query: str, owner: str) -> list[str]:
    async with bench.provider() as provider:
        return _ids(await bench.ask(provider, query, owner=owner))


async def _claim_to_be(bench: Bench, provider: Any, query: str, alone: Mapping[str, list[str]]) -> None:
    """Name another owner in the filters: the answer may shrink, and never holds what is only the other's."""
    one, two = bench.conditions.owners
    for name in ("owner_id", "ownerId", "owner", "tenant"):
        try:
            answer = _ids(await bench.ask(provider, query, owner=one, filters={name: two}))
        except RetrievalError as error:
            if isinstance(error, UnsupportedFilters):
                return
            continue
        if (set(answer) - set(alone[one])) & set(alone[two]):
            raise CheckFailed(f"Filters with {name!r} opened another owner's documents; take owners from the context.")


async def concurrency(bench: Bench) -> str:
    """Many calls at the same time get the answers that they get alone."""
    conditions = bench.conditions
    alone: dict[str, list[str]] = {}
    async with bench.provider() as provider:
        for query in conditions.queries:
            alone[query] = _ids(await bench.ask(provider, query))
        queries = [conditions.queries[n % len(conditions.queries)] for n in range(conditions.concurrent_calls)]
        try:
            answers = await asyncio.gather(*(bench.ask(provider, query) for query in queries))
        except Exception as error:
            raise CheckFailed(f"Calls at the same time failed with {type(error).__name__}.") from error
    if any(_ids(answer) != alone[query] for query, answer in zip(queries, answers, strict=True)):
        raise CheckFailed("Calls at the same time got each other's answers; keep no request on the object.")
    return f"{conditions.concurrent_calls} calls at the same time got the answers that they get alone."


async def no_blocking(bench: Bench) -> str:
    """The event loop stays free while the provider works."""
    limit = bench.conditions.max_block_seconds
    longest = await _longest_pause(bench)
    for _ in range(4):  # a busy machine pauses now and then, a blocking provider each time
        if longest > limit:
            longest = min(longest, await _longest_pause(bench))
    if longest > limit:
        blocked = f"It blocked the event loop for {longest * 1000:.0f} ms"
        raise CheckFailed(f"{blocked}; write a plain 'def retrieve', which runs in a thread, or await.")
    return f"The event loop was never blocked for more than {limit * 1000:.0f} ms."


async def _longest_pause(bench: Bench) -> float:
    clock = asyncio.get_running_loop().time
    done = asyncio.Event()
    beats = [clock()]

    async def beat() -> None:
        # At least one beat after the calls: a provider that never lets the loop run is measured by that one alone.
        while len(beats) == 1 or not done.is_set():
            await asyncio.sleep(0.002)
            beats.append(clock())

    async with bench.provider() as provider:
        heart = asyncio.create_task(beat())
        beats[0] = clock()
        for query in bench.conditions.queries[:2]:
            await bench.raw(provider, query)
        done.set()
        await heart
    return max(later - earlier for earlier, later in pairwise(beats))


async def health(bench: Bench) -> str:
    """health() answers in time, where there is one."""
    async with bench.provider() as provider:
        method = getattr(provider, "health", None)
        if method is None:
            return "There is no health(); the provider counts as ready."
        try:
            raw = await asyncio.wait_for(called(method), bench.conditions.seconds)
            answer = ProviderHealth.model_validate(dict(raw))
        except TimeoutError:
            raise CheckFailed("health() did not end in time.") from None
        except (TypeError, ValueError) as error:
            raise CheckFailed("health() returned no ProviderHealth.") from error
    return f"health() says {answer.status}."


async def close_once(bench: Bench) -> str:
    """close() ends in time, while a call is in flight too, and leaves no task running."""
    provider = bench.factory()
    close = getattr(provider, "close", None)
    if close is None:
        return "There is no close(); nothing is left to do."
    before = asyncio.all_tasks()
    in_flight = asyncio.create_task(bench.raw(provider, bench.conditions.queries[0]))
    await asyncio.sleep(0)
    closing = asyncio.create_task(called(close))
    await asyncio.wait([closing], timeout=bench.conditions.seconds)
    if not closing.done():
        raise CheckFailed("close() did not end in time.")
    if closing.cancelled() or closing.exception() is not None:
        raise CheckFailed("close() raised; let it end quietly, whatever state the provider is in.")
    in_flight.cancel()
    await settled([in_flight], _GRACE_SECONDS)
    left = {task for task in asyncio.all_tasks() - before if not task.done()}
    if left:
        await settled(left, _GRACE_SECONDS)
    if any(not task.done() for task in left):
        raise CheckFailed("Tasks go on after close(); end them in close().")
    return "close() ended in time and left nothing running."


def _ids(results: list[Any]) -> list[str]:
    return [result.id for result in results]


CHECKS: dict[str, Check] = {
    "description": description,
    "shape": shape,
    "bounds": bounds,
    "cancellation": cancellation,
    "owner isolation": owner_isolation,
    "concurrency": concurrency,
    "no event-loop blocking": no_blocking,
    "health": health,
    "close once": close_once,
}

__all__ = ["CHECKS", "Check"]
