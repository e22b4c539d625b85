"""How fast a barge-in reaches the provider: from cancelling a search to the provider seeing it, with 200 in flight.

The baseline cancels tasks that await the same provider bare. Calls are cancelled a millisecond apart, as users do,
and once all in one step, where most of the time is the queue. The second table shows what a provider that blocks its
event loop does to the gateway's loop when it runs with ``isolation="thread"``: the pauses of everything else.
"""

import asyncio
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, quiet_collector, spread
from gateway import FrontendKnowledgeRuntime
from gateway.isolation import IsolationMode
from knowledge_provider import RetrievalContext, RetrievalRequest

IN_FLIGHT = 200
ROUNDS = 5
BLOCKED_SECONDS = 5.0


class Waits:
    """Never answers; notes when it learns that nobody waits any more."""

    def __init__(self) -> None:
        self.started = 0
        self.seen_at: dict[str, float] = {}

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "bench", "label": "Benchmark"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.started += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.seen_at[request.query] = time.perf_counter()


class BlocksItsLoop(Waits):
    """Blocks inside ``async def``, the most common mistake."""

    def __init__(self) -> None:
        super().__init__()
        self.blocked = threading.Event()

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.blocked.set()
        time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251 - the mistake
        return []


async def one_by_one(provider: Waits, start: Any) -> list[float]:
    """Start 200 calls, cancel one after the other, and return the milliseconds each took to be seen."""
    provider.started = 0
    provider.seen_at.clear()
    calls = {f"query {number}": asyncio.create_task(start(f"query {number}")) for number in range(IN_FLIGHT)}
    while provider.started < IN_FLIGHT:  # noqa: ASYNC110 - the provider may run on another loop
        await asyncio.sleep(0.001)
    cancelled_at = {}
    for query, call in calls.items():
        cancelled_at[query] = time.perf_counter()
        call.cancel()
        await asyncio.sleep(0.001)
    await asyncio.wait(calls.values())
    while len(provider.seen_at) < IN_FLIGHT:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.001)
    return [(provider.seen_at[query] - cancelled_at[query]) * 1000 for query in calls]


async def all_at_once(provider: Waits, start: Any) -> list[float]:
    """The same, with all 200 cancelled in one step of the event loop."""
    provider.started = 0
    provider.seen_at.clear()
    calls = {f"query {number}": asyncio.create_task(start(f"query {number}")) for number in range(IN_FLIGHT)}
    while provider.started < IN_FLIGHT:  # noqa: ASYNC110 - the provider may run on another loop
        await asyncio.sleep(0.001)
    cancelled_at = time.perf_counter()
    for call in calls.values():
        call.cancel()
    await asyncio.wait(calls.values())
    while len(provider.seen_at) < IN_FLIGHT:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.001)
    return [(seen - cancelled_at) * 1000 for seen in provider.seen_at.values()]


async def row(name: str, how: Any, isolation: IsolationMode) -> Row:
    provider = Waits()
    context = RetrievalContext(owner_id="ann")
    bare: list[float] = []
    whole: list[float] = []
    for _ in range(ROUNDS):
        bare += await how(provider, lambda query: provider.retrieve(RetrievalRequest(query=query), context))
        async with FrontendKnowledgeRuntime(
            provider, isolation=isolation, max_abandoned=IN_FLIGHT * 2, timeout_seconds=60
        ) as runtime:
            whole += await how(provider, lambda query, runtime=runtime: runtime.search(query, owner_id="ann"))
    return Row(name, spread(whole), spread(bare))


async def cancellation() -> Table:
    with quiet_collector():
        rows = (
            await row("one by one, isolation='task'", one_by_one, "task"),
            await row("one by one, isolation='thread'", one_by_one, "thread"),
            await row("all in one step, isolation='task'", all_at_once, "task"),
        )
    return Table(
        f"Cancel to provider, {IN_FLIGHT} calls in flight",
        rows,
        aim="p95 below 5 ms.",
        verdict="; ".join(f"{row.name} {row.measured.p95:.3f} ms" for row in rows) + ".",
    )


async def gaps_while(blocked: threading.Event | None, call: Any) -> list[float]:
    """Beat every 2 ms until the call ends, and return the pauses in milliseconds, the last one included."""
    task = asyncio.create_task(call())
    if blocked is not None:
        await asyncio.to_thread(blocked.wait)
    beats = [time.perf_counter()]
    while not task.done():
        await asyncio.sleep(0.002)
        beats.append(time.perf_counter())
    await asyncio.gather(task, return_exceptions=True)
    beats.append(time.perf_counter())
    return [(later - earlier) * 1000 for earlier, later in pairwise(beats)]


async def frames() -> Table:
    provider = BlocksItsLoop()
    idle = await gaps_while(None, lambda: asyncio.sleep(BLOCKED_SECONDS))
    async with FrontendKnowledgeRuntime(provider, isolation="thread", timeout_seconds=60) as runtime:
        blocked = await gaps_while(provider.blocked, lambda: runtime.search("anything", owner_id="ann"))
    row = Row(f"a beat of 2 ms beside a provider that blocks {BLOCKED_SECONDS:g} s", spread(blocked), spread(idle))
    return Table(
        "The gateway's loop beside a blocked provider, isolation='thread', against an idle process",
        (row,),
        aim="no pause above 20 ms.",
        verdict=f"longest {max(blocked):.1f} ms beside the provider, {max(idle):.1f} ms in an idle process.",
    )


def main() -> list[Table]:
    """Run both benchmarks, print their tables and return them."""
    tables = [asyncio.run(cancellation()), asyncio.run(frames())]
    print("\n\n".join(map(str, tables)))
    return tables


if __name__ == "__main__":
    main()
