"""Speed of the local library beside its peers: build, disk, memory, query times, a new document until it is found.

Run with ``python benchmarks/local_search.py [passages ...] [--text FOLDER ...]``. Without ``--text`` the passages are
made of invented words, the same on every machine; with it they are cut from the text files below the folders. Each
engine is built and asked in a process of its own, so that its memory is its own; peers are ended after ``--minutes``.
What was left out is named with its reason.
"""

import argparse
import asyncio
import gc
import importlib.util
import math
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Spread, Table, spread
from benchmarks.searching import corpus
from benchmarks.searching.engines import OWN, PEERS, Engine, disk_bytes, local_library, memory_of_machine, peak_bytes
from knowledge_provider import PERSONAL_OWNER, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider

AT_ONCE = 8
NEW_DOCUMENTS = 10
_NEEDS = {
    "bm25s": "bm25s",
    "LangChain BM25Retriever": "langchain_community",
    "LlamaIndex BM25Retriever": "llama_index.retrievers.bm25",
    "Chroma, hashed words as vectors": "chromadb",
}
_BM25S_BYTES_A_PASSAGE = 12_000
_LINES = "passages.txt"
_OWN_MINUTES = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one engine cost and how fast it answered; times in milliseconds."""

    build_seconds: float
    disk: int
    memory: int
    query: Spread
    answered: float
    findable: Spread | None
    best: Spread | None = None
    loop: tuple[Spread, Spread, Spread] | None = None


def measured(engine: Engine, folder: Path) -> Measured:
    """Build ``engine`` over the passages in ``folder`` and ask it; memory is what it held beyond the passages."""
    with (folder / _LINES).open(encoding="utf-8") as lines:
        passages = [line.rstrip("\n") for line in lines]
    own = folder / engine.name.split(",")[0].replace(" ", "-")
    own.mkdir()
    queries = corpus.questions(passages, engine.queries + 20)
    before = peak_bytes()
    started = time.perf_counter()
    built = engine.build(passages, own)
    seconds = time.perf_counter() - started
    del passages
    query, answered = timed(built.search, queries)
    size, memory = disk_bytes(own), peak_bytes() - before
    found = findable(built.add, built.search) if built.add else None
    best = loop = None
    if engine is OWN:
        best = undisturbed(built.search, queries)
        with local_library(own) as library:
            loop = asyncio.run(loop_pauses(library, queries))
    return Measured(seconds, size, memory, query, answered, found, best, loop)


def timed(search: Callable[[str], object], queries: Sequence[str]) -> tuple[Spread, float]:
    """Milliseconds of each query after twenty to warm up, and the share that had an answer."""
    for query in queries[:20]:
        search(query)
    samples, answered = [], 0
    gc.collect()
    for query in queries[20:]:
        started = time.perf_counter()
        found = search(query)
        samples.append((time.perf_counter() - started) * 1_000)
        answered += bool(found)
    return spread(samples), answered / len(samples)


def undisturbed(search: Callable[[str], object], queries: Sequence[str]) -> Spread:
    """Milliseconds of each query at its best of three: without what other processes held up."""
    samples = [math.inf] * len(queries)
    for _ in range(3):
        for number, query in enumerate(queries):
            started = time.perf_counter()
            search(query)
            samples[number] = min(samples[number], (time.perf_counter() - started) * 1_000)
    return spread(samples)


def findable(add: Callable[[str], object], search: Callable[[str], object]) -> Spread:
    """Milliseconds from handing over the text of one document until a search returns it."""
    samples = []
    for number in range(NEW_DOCUMENTS):
        started = time.perf_counter()
        add(f"The zebrafinch{number} lives in hangar{number}.")
        found = str(search(f"zebrafinch{number} lives hangar{number}"))
        samples.append((time.perf_counter() - started) * 1_000)
        assert f"zebrafinch{number}" in found, "a new document was not found"
    return spread(samples)


async def loop_pauses(library: DomainLibrary, queries: Sequence[str]) -> tuple[Spread, Spread, Spread]:
    """Pauses of the event loop in milliseconds: idle, with eight retrievals at once, with the same work on the loop."""
    provider = LocalDomainKnowledgeProvider(library, view="passages")

    async def retrieve(query: str) -> None:
        await provider.retrieve(RetrievalRequest(query=query), RetrievalContext(owner_id=PERSONAL_OWNER))

    async def eight_at_once() -> None:
        for start in range(0, len(queries[:200]), AT_ONCE):
            await asyncio.gather(*map(retrieve, queries[start : start + AT_ONCE]))

    async def on_the_loop() -> None:
        for query in queries[:200]:
            library.search(query)
            await asyncio.sleep(0)

    pauses = (await _pauses(lambda: asyncio.sleep(1)), await _pauses(eight_at_once), await _pauses(on_the_loop))
    await provider.close()
    return pauses


async def _pauses(work: Callable[[], Awaitable[object]]) -> Spread:
    """How long the loop took to come back to a task that asks for a millisecond, beyond that millisecond."""
    samples: list[float] = []
    ended = asyncio.Event()

    async def tick() -> None:
        while not ended.is_set():
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            samples.append(max(0.0, (time.perf_counter() - started) * 1_000 - 1))

    ticking = asyncio.create_task(tick())
    await work()
    ended.set()
    await ticking
    return spread(samples)


def _in_child(send: Connection, engine: str, folder: str) -> None:
    chosen = next(one for one in (OWN, *PEERS) if one.name == engine)
    send.send(measured(chosen, Path(folder)))


def in_own_process(engine: Engine, folder: Path, minutes: float) -> Measured | str:
    """What was measured, or why it was not."""
    receive, send = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("spawn").Process(target=_in_child, args=(send, engine.name, str(folder)))
    child.start()
    send.close()
    try:
        if not receive.poll(minutes * 60):
            child.kill()
            return f"ended after {minutes:g} minutes"
        return receive.recv()  # type: ignore[no-any-return]
    except EOFError:
        return "ended by itself, see above"
    finally:
        child.join(10)
        child.kill()


def left_out(engine: Engine, passages: int) -> str:
    """Why an engine is not asked at this size, or nothing."""
    module = _NEEDS.get(engine.name, "")
    if module and importlib.util.find_spec(module.split(".")[0]) is None:
        return f"not installed; `pip install {module.split('.')[0]}` adds it"
    if passages > engine.most_passages:
        return f"asked up to {engine.most_passages:,} passages only"
    if engine.name == "bm25s" and passages * _BM25S_BYTES_A_PASSAGE > memory_of_machine():
        return f"needs about {passages * _BM25S_BYTES_A_PASSAGE / 1e9:.0f} GB of memory"
    return ""


def main(sizes: Sequence[int] = (10_000, 100_000), text: Sequence[Path] = (), minutes: float = 8.0) -> list[Table]:
    """Two tables for each size; the baseline of a query is SQLite FTS5 in the same run."""
    tables = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            passages = corpus.cut(text, size) if text else corpus.made(size)
            (Path(folder) / _LINES).write_text("\n".join(passages), encoding="utf-8")
            for table in _tables(size, Path(folder), "real text" if text else "invented words", minutes):
                tables.append(table)
                print(table, end="\n\n", flush=True)
    return tables


def _tables(size: int, folder: Path, kind: str, minutes: float) -> tuple[Table, Table]:
    results: dict[Engine, Measured] = {}
    absent: list[str] = []
    for engine in (OWN, *PEERS):
        found = left_out(engine, size) or in_own_process(engine, folder, _OWN_MINUTES if engine is OWN else minutes)
        if isinstance(found, str):
            absent.append(f"{engine.name}: {found}")
        else:
            results[engine] = found
    if OWN not in results:
        raise SystemExit(f"The local library was not measured: {absent[0]}.")
    return _queries(size, kind, results, absent), _loop(size, results[OWN])


def _queries(size: int, kind: str, results: dict[Engine, Measured], absent: Sequence[str]) -> Table:
    baseline = next((one.query for engine, one in results.items() if engine is PEERS[0]), None)
    rows = [Row(f"query, {engine.name} ({engine.answer})", one.query, baseline) for engine, one in results.items()]
    if best := results[OWN].best:
        rows.insert(1, Row(f"query, {OWN.name}, each at its best of three", best, baseline))
    rows += [
        Row(f"new document until found, {engine.name}", one.findable)
        for engine, one in results.items()
        if one.findable is not None
    ]
    costs = "; ".join(
        f"{engine.name} {one.build_seconds:.1f} s, {one.disk / 1e6:.0f} MB on disk, {one.memory / 1e6:.0f} MB of memory"
        for engine, one in results.items()
    )
    missing = f" Left out: {'; '.join(absent)}." if absent else ""
    return Table(
        title=f"Local search, {size:,} passages of {corpus.WORDS_OF_A_PASSAGE} words ({kind})",
        rows=tuple(rows),
        aim="p99 below 10 ms at 1M passages, below 3 ms at 100k; a new document found within 200 ms.",
        verdict=f"build and cost: {costs}. The library answered {results[OWN].answered:.0%} above its floor.{missing}",
    )


def _loop(size: int, own: Measured) -> Table:
    idle, threads, inline = own.loop or (own.query,) * 3
    return Table(
        title=f"Pauses of the event loop, {size:,} passages",
        rows=(
            Row("idle", idle),
            Row(f"{AT_ONCE} retrievals at once through the provider", threads, idle),
            Row("the same searches on the loop, as the provider does not", inline, idle),
        ),
        aim="Searching does not hold up the loop.",
        verdict=f"longest 1 % of pauses {threads.p99:.1f} ms with {AT_ONCE} retrievals at once.",
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("passages", nargs="*", type=int, default=[10_000, 100_000])
    arguments.add_argument("--text", nargs="*", type=Path, default=[])
    arguments.add_argument("--minutes", type=float, default=8.0)
    chosen = arguments.parse_args()
    main(chosen.passages, chosen.text, chosen.minutes)
