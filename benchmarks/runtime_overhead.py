"""What the runtime adds to a provider: search() beside a bare call of the same provider in the same run.

The provider answers with 8 results of 4,000 characters, with metadata and URIs, which the runtime bounds and cites.
The cache is off. At 100 concurrent calls the work of one call, queueing left out, is the time of the batch divided by
its calls. The control row is plain arithmetic of about the same length, alternated with the calls: what it shows above
its median is the machine's, not the runtime's.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, milliseconds, quiet_collector, spread
from gateway import FrontendKnowledgeRuntime
from knowledge_provider import RetrievalContext, RetrievalRequest

ROUNDS = 600
BATCHES = 60
CONCURRENT = 100
SENTENCE = "Releases need two reviewers, and a rollback plan of at most one page. "


class EightLongResults:
    """Answers after one step of the event loop, as a client with a pooled connection would at best."""

    def __init__(self) -> None:
        self._results = [_result(number) for number in range(8)]

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "bench", "label": "Benchmark"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(0)
        return {"results": [dict(result) for result in self._results]}


def _result(number: int) -> dict[str, Any]:
    return {
        "id": f"chunk-{number}",
        "content": (SENTENCE * 60)[:4000],
        "score": 0.9 - number / 100,
        "source": {
            "id": f"handbook-{number}",
            "title": f"Release handbook, part {number}",
            "uri": f"https://docs.example.com/releases/{number}?view=full#approvals",
            "mimeType": "text/markdown",
            "locator": "section=approvals",
        },
        "metadata": {"department": "engineering", "year": 2026, "public": True, "weight": 0.5},
    }


async def one_at_a_time(provider: EightLongResults, runtime: FrontendKnowledgeRuntime) -> tuple[Row, Row]:
    """Alternate bare and measured calls, so that whatever the machine does falls on both."""
    context = RetrievalContext(owner_id="ann")
    request = RetrievalRequest(query="release policy", top_k=8)
    bare, whole, control = [], [], []
    for number in range(ROUNDS):
        bare.append(await milliseconds(lambda: provider.retrieve(request, context)))
        query = f"release policy {number}"
        whole.append(await milliseconds(lambda query=query: runtime.search(query, owner_id="ann", top_k=8)))  # type: ignore[misc]
        control.append(await milliseconds(arithmetic))
    return (
        Row("one call, search() beside bare", spread(whole[50:]), spread(bare[50:])),
        Row("control, arithmetic of the same length", spread(control[50:])),
    )


async def arithmetic() -> int:
    """Compute for about a third of a millisecond."""
    return sum(number * number for number in range(12_000))


async def many_at_a_time(provider: EightLongResults, runtime: FrontendKnowledgeRuntime) -> Row:
    """Measure batches, and report the work that one call of a batch costs."""
    context = RetrievalContext(owner_id="ann")
    request = RetrievalRequest(query="release policy", top_k=8)
    bare, whole = [], []
    for batch in range(BATCHES):
        started = time.perf_counter()
        await asyncio.gather(*(provider.retrieve(request, context) for _ in range(CONCURRENT)))
        between = time.perf_counter()
        queries = [f"policy {batch} {number}" for number in range(CONCURRENT)]
        await asyncio.gather(*(runtime.search(query, owner_id="ann", top_k=8) for query in queries))
        bare.append((between - started) * 1000 / CONCURRENT)
        whole.append((time.perf_counter() - between) * 1000 / CONCURRENT)
    return Row(f"{CONCURRENT} concurrent calls, work of each", spread(whole[5:]), spread(bare[5:]))


async def measured() -> Table:
    provider = EightLongResults()
    with quiet_collector():
        async with FrontendKnowledgeRuntime(provider, cache_ttl_seconds=0) as runtime:
            rows = (*await one_at_a_time(provider, runtime), await many_at_a_time(provider, runtime))
    added = [row.measured.p95 - row.baseline.p95 for row in rows if row.baseline]
    return Table(
        "Runtime overhead, 8 results of 4,000 characters",
        rows,
        aim=f"p95 added below 1 ms at one call and below 3 ms of work at {CONCURRENT}.",
        verdict=f"{added[0]:.3f} ms and {added[1]:.3f} ms; the control's p95 is {rows[1].measured.p95:.3f} ms.",
    )


def main() -> Table:
    """Run the benchmark, print its table and return it."""
    table = asyncio.run(measured())
    print(table)
    return table


if __name__ == "__main__":
    main()
