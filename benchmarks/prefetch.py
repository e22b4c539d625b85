"""What lookups ahead of the model's call save, and what they cost: spoken questions replayed as transcript streams.

Every turn runs through the real listener, planner, runtime and adoption, on an event loop whose clock jumps from timer
to timer. Words come three a second (two characters are a word in Chinese). The model calls the tool L after the last
word, with the question in full, shortened or in other words. No end of speech is signalled: only the words are heard.
The baseline is the same turn without a listener.

A false adoption is counted in two ways. ``lost``: the passage that answers the question is among the five results of
the model's own query and not among those it was given. ``wrong``: the model asks another question about the same
passage, the hardest there is, and is given what was looked up for this one.

    python benchmarks/prefetch.py --data FOLDER   judged collections (xquad_en, xquad_de, cmrc)
    python benchmarks/prefetch.py                 a small collection of our own
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, milliseconds, spread
from benchmarks.spoken import virtual_time
from benchmarks.spoken.phrasing import FORMS, phrased
from benchmarks.spoken.questions import Collection, judged_collection, small_collection
from gateway import FrontendKnowledgeRuntime
from gateway.listening import Listener
from gateway.prefetch import PrefetchPlanner
from gateway.similarity import ADOPTION_THRESHOLD
from gateway.speculation import PrefetchCounts
from knowledge_provider import RetrievalContext, RetrievalRequest

WORDS_PER_SECOND = 3.0
THINKING_SECONDS = (0.3, 0.6, 1.0)
PROVIDER_SECONDS = (0.05, 0.2, 0.5)
COLLECTIONS = ("xquad_en", "xquad_de", "cmrc")
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
RESULTS = 5
HITS = 50
ENDPOINT_SECONDS = 0.15


class SlowSearch:
    """BM25 that takes as long as a remote system would."""

    def __init__(self, collection: Collection, seconds: float) -> None:
        self.calls = 0
        self._seconds = seconds
        self._collection = collection

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "bm25", "label": "BM25"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, str]]:
        self.calls += 1
        await asyncio.sleep(self._seconds)
        return [{"id": id, "content": id} for id in self._collection.search(request.query, request.top_k)]


@dataclass(slots=True)
class Outcome:
    """What one way of running all turns came to. Times are milliseconds."""

    waited: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    started: int = 0
    adopted: int = 0
    wasted: int = 0
    lost: int = 0

    def share(self, hidden: float) -> float:
        """Return how many in a hundred turns had at least this part of the provider's time hidden."""
        pairs = zip(self.waited, self.baseline, strict=True)
        return 100 * sum(waited <= baseline * (1 - hidden) + 0.5 for waited, baseline in pairs) / len(self.waited)


def spoken_words(text: str) -> Iterator[str]:
    """Yield the transcript as it grows, word by word."""
    if any("\u3400" <= character <= "\u9fff" for character in text):
        yield from (text[: end + 2] for end in range(0, len(text), 2))
        return
    words = text.split()
    yield from (" ".join(words[: count + 1]) for count in range(len(words)))


class Speaker:
    """Plays turns on one collection with one provider latency."""

    def __init__(
        self,
        collection: Collection,
        provider_seconds: float,
        *,
        while_speaking: bool = False,
        endpoint: float | None = None,
        threshold: float = ADOPTION_THRESHOLD,
    ) -> None:
        self.runtime = FrontendKnowledgeRuntime(
            SlowSearch(collection, provider_seconds), cache_ttl_seconds=0, adoption_threshold=threshold
        )
        self._while_speaking = while_speaking
        self._endpoint = endpoint
        self._time = asyncio.get_running_loop().time
        self._turns = 0

    async def turn(
        self, spoken: str, query: str, thinking: float, *, listens: bool = True
    ) -> tuple[float, set[str], PrefetchCounts]:
        """Return the milliseconds that the call waited, the ids it was given, and what speculation came to."""
        self._turns += 1
        owner, session = "ann", f"s{self._turns}"
        planner = PrefetchPlanner(while_speaking=self._while_speaking)
        listener = Listener(self.runtime, owner_id=owner, session_id=session, planner=planner)
        for so_far in spoken_words(spoken):
            await asyncio.sleep(1 / WORDS_PER_SECOND)
            if listens:
                listener.heard_so_far(so_far)
        if self._endpoint is not None and listens:
            asyncio.get_running_loop().call_later(self._endpoint, listener.finished)
        await asyncio.sleep(thinking)
        listener.asked()
        began = self._time()
        response = await self.runtime.search(query, owner_id=owner, session_id=session, top_k=RESULTS)
        waited = (self._time() - began) * 1000
        listener.close()
        return waited, {result.id for result in response.results}, self.runtime.prefetch_counts(owner, session)


async def play(
    collections: list[Collection], form: str, thinking: float, provider_seconds: float, **options: Any
) -> Outcome:
    """Play every question once, with and without a listener."""
    outcome = Outcome()
    for collection in collections:
        speaker = Speaker(collection, provider_seconds, **options)
        for question in collection.questions:
            query = phrased(question.text, form)
            waited, given, counts = await speaker.turn(question.text, query, thinking)
            plain, own, _ = await speaker.turn(question.text, query, thinking, listens=False)
            outcome.waited.append(waited)
            outcome.baseline.append(plain)
            outcome.started += counts.started
            outcome.adopted += counts.adopted
            outcome.wasted += counts.wasted
            outcome.lost += bool(own & question.answers) and not given & question.answers
        await speaker.runtime.aclose()
    return outcome


async def wrong_questions(collections: list[Collection], threshold: float) -> tuple[int, int]:
    """Return how many calls with another question there were, and how many were given what was looked up."""
    asked = adopted = 0
    for collection in collections:
        speaker = Speaker(collection, 0.05, threshold=threshold)
        for question in collection.questions:
            if question.other is not None:
                _, _, counts = await speaker.turn(question.text, question.other, 1.0)
                asked += 1
                adopted += counts.adopted
        await speaker.runtime.aclose()
    return asked, adopted


async def near_repeats(collections: list[Collection]) -> tuple[float, float]:
    """Return in how many sessions of a hundred a question put in other words, and another question, hit the memory."""
    sessions = repeated = confused = others = 0
    for collection in collections:
        search = SlowSearch(collection, 0.11)
        async with FrontendKnowledgeRuntime(search, cache_ttl_seconds=300) as runtime:
            for number, question in enumerate(collection.questions):
                repeated += await _asks_once(
                    runtime, search, f"r{number}", question.text, phrased(question.text, "reworded")
                )
                sessions += 1
                if question.other is not None:
                    confused += await _asks_once(runtime, search, f"o{number}", question.text, question.other)
                    others += 1
    return 100 * repeated / sessions, 100 * confused / max(1, others)


async def _asks_once(
    runtime: FrontendKnowledgeRuntime, search: SlowSearch, session: str, first: str, second: str
) -> bool:
    owner = f"owner of {session}"  # so that nothing but the session's own memory can answer
    await runtime.search(first, owner_id=owner, session_id=session)
    before = search.calls
    await runtime.search(second, owner_id=owner, session_id=session)
    return search.calls == before


async def memory_hits() -> Row:
    """Time near repeats on the wall clock, beside the provider of 110 ms that they spare."""
    question, again = "how many reviewers does every release need", "number of reviewers every release needs"
    hits, misses = [], []
    search = SlowSearch(small_collection(), 0.11)
    async with FrontendKnowledgeRuntime(search, cache_ttl_seconds=300) as runtime:
        for number in range(HITS):
            ask = partial(runtime.search, owner_id=f"owner {number}", session_id="s")
            misses.append(await milliseconds(partial(ask, question)))
            hits.append(await milliseconds(partial(ask, again)))
    assert search.calls == HITS, "a near repeat has reached the provider"
    return Row("a near repeat within a session", spread(hits), spread(misses))


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(outcome: Outcome) -> list[str]:
    """Return the figures of one row: hidden wholly and by half, saved, wasted, lost."""
    saved = spread([max(0.0, plain - waited) for waited, plain in zip(outcome.waited, outcome.baseline, strict=True)])
    turns = len(outcome.waited)
    figures = [f"{outcome.share(1.0):.1f} %", f"{outcome.share(0.5):.1f} %", f"{saved.p50:.0f}", f"{saved.p95:.0f}"]
    return [*figures, f"{outcome.wasted / turns:.2f}", f"{100 * outcome.lost / turns:.2f} %"]


HEAD = ("wholly hidden", "half hidden", "saved p50 ms", "saved p95 ms", "wasted a turn", "lost")


async def together(collections: list[Collection], thinking: float, provider_seconds: float, **options: Any) -> Outcome:
    """Play all three forms as one."""
    total = Outcome()
    for form in FORMS:
        part = await play(collections, form, thinking, provider_seconds, **options)
        total.waited += part.waited
        total.baseline += part.baseline
        for name in ("started", "adopted", "wasted", "lost"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
    return total


async def grid(collections: list[Collection]) -> tuple[Table, str]:
    """Every thinking time with every provider latency."""
    rows, shares, aim = [], [], 0.0
    for thinking in THINKING_SECONDS:
        for provider_seconds in PROVIDER_SECONDS:
            outcome = await together(collections, thinking, provider_seconds)
            name = f"L {thinking * 1000:.0f} ms, provider {provider_seconds * 1000:.0f} ms"
            rows.append(Row(name, spread(outcome.waited), spread(outcome.baseline)))
            shares.append([name, *cells(outcome)])
            if (thinking, provider_seconds) == (0.6, 0.2):
                aim = outcome.share(1.0)
    verdict = f"{aim:.1f} % wholly hidden at L 600 ms, provider 200 ms."
    title = "What the model's call still waits for (ms of virtual time)"
    table = Table(title, tuple(rows), aim="70 % hidden at a provider latency of 200 ms.", verdict=verdict)
    return table, markdown(["all forms", *HEAD], shares)


async def forms(collections: list[Collection]) -> str:
    """Each form by itself, and with what has settled looked up in the middle of a sentence."""
    rows = [[form, *cells(await play(collections, form, 0.6, 0.2))] for form in FORMS]
    early = await together(collections, 0.6, 0.2, while_speaking=True)
    rows.append(["all, while speaking too", *cells(early)])
    early = await together(collections, 0.3, 0.2, while_speaking=True)
    rows.append(["all, L 300 ms, while speaking too", *cells(early)])
    for provider_seconds in PROVIDER_SECONDS:
        told = await together(collections, 0.3, provider_seconds, endpoint=ENDPOINT_SECONDS)
        name = f"all, L 300 ms, provider {provider_seconds * 1000:.0f} ms, end of speech told after 150 ms"
        rows.append([name, *cells(told)])
    return markdown(["L 600 ms, provider 200 ms", *HEAD], rows)


async def thresholds(collections: list[Collection]) -> str:
    """What is hidden and what is falsely adopted, by threshold."""
    rows = []
    for threshold in THRESHOLDS:
        outcome = await together(collections, 0.6, 0.2, threshold=threshold)
        asked, adopted = await wrong_questions(collections, threshold)
        chosen = " (chosen)" if threshold == ADOPTION_THRESHOLD else ""
        turns = len(outcome.waited)
        wrong = f"{100 * adopted / max(1, asked):.2f} %"
        rows.append(
            [f"{threshold}{chosen}", f"{outcome.share(1.0):.1f} %", f"{100 * outcome.lost / turns:.2f} %", wrong]
        )
    return markdown(["threshold", "wholly hidden", "false: lost", "false: wrong question"], rows)


async def measure(collections: list[Collection]) -> str:
    """Return all tables."""
    table, shares = await grid(collections)
    repeated, confused = await near_repeats(collections)
    count = sum(len(collection.questions) for collection in collections)
    names = ", ".join(collection.name for collection in collections)
    memory = (
        f"Asked again in other words within a session: {repeated:.1f} % answered from memory without the provider; "
    )
    memory += f"another question about the same passage: {confused:.2f} %."
    parts = [f"{count} questions of {names}; each is played in three forms.", str(table), shares]
    return "\n\n".join([*parts, await forms(collections), await thresholds(collections), memory])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with judged collections, gzipped JSON")
    parser.add_argument("--questions", type=int, default=150, help="how many of each collection")
    arguments = parser.parse_args()
    collections = [small_collection()]
    if arguments.data:
        files = [arguments.data / f"{name}.json.gz" for name in COLLECTIONS]
        if missing := [str(file) for file in files if not file.is_file()]:
            sys.exit(f"Not found: {', '.join(missing)}. Run without --data for a small collection of our own.")
        collections = [judged_collection(file, arguments.questions) for file in files]
    else:
        print("A small collection of our own; judged collections are read with --data FOLDER.\n")
    print(virtual_time.run(measure(collections)))
    aim = "0.35 ms against 110 ms, as published for a semantic cache in front of a vector database."
    hit = asyncio.run(memory_hits())
    verdict = f"{hit.measured.p50:.2f} ms against {hit.baseline.p50 if hit.baseline else 0:.0f} ms."
    print(f"\n{Table('A near repeat, on the wall clock', (hit,), aim=aim, verdict=verdict)}")


if __name__ == "__main__":
    main()
