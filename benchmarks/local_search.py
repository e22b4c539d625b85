"""Speed of the local library: build, disk, query times and the time until a new document is found.

Run with ``python benchmarks/local_search.py [passages ...]``. The corpus is drawn from a Zipf vocabulary with a fixed
seed, so that every machine searches the same text. Peers answer the same questions in the same run; those that need
minutes or gigabytes at a size are left out there and named.
"""

import argparse
import gc
import random
import resource
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Spread, Table, spread
from local_library import DomainLibrary, LibraryLimits
from local_library.records import ExtractedText, Segment, SegmentKind

WORDS_OF_A_PASSAGE = 60
PASSAGES_OF_A_DOCUMENT = 200
QUERIES = 300
_SLOW_PEERS_UP_TO = 10_000
_BM25S_UP_TO = 100_000


class Corpus:
    """Passages of a Zipf vocabulary; queries take words from a random passage, so that each has an answer."""

    def __init__(self, passages: int) -> None:
        choose = random.Random(7)
        syllables = [a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
        self._words = list(
            dict.fromkeys("".join(choose.choices(syllables, k=choose.randint(2, 5))) for _ in range(150_000))
        )
        self._cumulated = list(accumulate(1 / rank for rank in range(10, len(self._words) + 10)))
        self._choose = choose
        self.passages = [self._passage() for _ in range(passages)]

    def _passage(self) -> str:
        return " ".join(self._choose.choices(self._words, cum_weights=self._cumulated, k=WORDS_OF_A_PASSAGE))

    def queries(self, count: int) -> list[str]:
        """Questions of 8 words: 6 out of one passage, 2 from anywhere."""
        asked = []
        for _ in range(count):
            own = self._choose.sample(self._choose.choice(self.passages).split(), 6)
            asked.append(" ".join(own + self._choose.choices(self._words, cum_weights=self._cumulated, k=2)))
        return asked


class Prepared:
    """Takes paragraphs as they are: parsing files is measured elsewhere."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> tuple[ExtractedText, str]:
        made = [Segment(0, SegmentKind.HEADING, f"Document {path}", 1)]
        for number, text in enumerate(content.decode().split("\n\n")):
            made.append(Segment(len(made), SegmentKind.HEADING, f"Section {number}", 2))
            made.append(Segment(len(made), SegmentKind.PARAGRAPH, text))
        return ExtractedText(source_content_hash, "prepared-1", "", tuple(made)), "text/plain"

    def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Built:
    """An engine ready to be asked, and what it cost to get there."""

    name: str
    search: Callable[[str], object]
    seconds: float
    disk_bytes: int


def documents(passages: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, len(passages), PASSAGES_OF_A_DOCUMENT):
        yield f"/corpus/{start}", "\n\n".join(passages[start : start + PASSAGES_OF_A_DOCUMENT]).encode()


def library_of(corpus: Corpus, folder: Path) -> tuple[DomainLibrary, Built]:
    library = DomainLibrary(folder, extractor=Prepared(), limits=LibraryLimits(passages=5_000_000))
    started = time.perf_counter()
    library.import_many(documents(corpus.passages))
    seconds = time.perf_counter() - started
    return library, Built("local library", library.search, seconds, _size(folder))


def fts5_of(corpus: Corpus, folder: Path) -> Built:
    folder.mkdir()
    connection = sqlite3.connect(folder / "fts.sqlite")
    started = time.perf_counter()
    connection.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize='porter')")
    with connection:
        connection.executemany("INSERT INTO passages VALUES (?)", ((text,) for text in corpus.passages))
    seconds = time.perf_counter() - started

    def search(query: str) -> object:
        wanted = " OR ".join(f'"{word}"' for word in query.split())
        found = "SELECT rowid, text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages) LIMIT 5"
        return connection.execute(found, (wanted,)).fetchall()

    return Built("SQLite FTS5 porter", search, seconds, _size(folder))


def bm25s_of(corpus: Corpus, folder: Path) -> Built:
    import bm25s

    started = time.perf_counter()
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(corpus.passages, show_progress=False), show_progress=False)
    seconds = time.perf_counter() - started

    def search(query: str) -> object:
        return retriever.retrieve(bm25s.tokenize([query], show_progress=False), k=5, show_progress=False)

    return Built("bm25s", search, seconds, 0)


def langchain_of(corpus: Corpus, folder: Path) -> Built:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.retrievers import BM25Retriever

    started = time.perf_counter()
    retriever = BM25Retriever.from_texts(corpus.passages, k=5)
    return Built("LangChain BM25Retriever", retriever.invoke, time.perf_counter() - started, 0)


def llama_index_of(corpus: Corpus, folder: Path) -> Built:
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    started = time.perf_counter()
    nodes = [TextNode(text=text) for text in corpus.passages]
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=5)
    return Built("LlamaIndex BM25Retriever", retriever.retrieve, time.perf_counter() - started, 0)


def timed(search: Callable[[str], object], queries: Sequence[str]) -> Spread:
    """Milliseconds of each query, after twenty to warm up."""
    for query in queries[:20]:
        search(query)
    samples = []
    gc.collect()
    for query in queries:
        started = time.perf_counter()
        search(query)
        samples.append((time.perf_counter() - started) * 1_000)
    return spread(samples)


def findable(library: DomainLibrary, rounds: int) -> Spread:
    """Milliseconds from handing over one extracted document until a search returns it."""
    samples = []
    for number in range(rounds):
        content = f"The zebrafinch{number} lives in hangar{number}.".encode()
        started = time.perf_counter()
        library.import_bytes(f"/new/{number}", content)
        found = library.search(f"where does the zebrafinch{number} live")
        samples.append((time.perf_counter() - started) * 1_000)
        assert found, "a new document was not found"
        assert f"zebrafinch{number}" in found[0].text
    return spread(samples)


def main(sizes: Sequence[int] = (10_000,)) -> list[Table]:
    """The tables of each size; the baseline of every line is SQLite FTS5 in the same run."""
    tables = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            tables.append(_measured(size, Path(folder)))
            print(tables[-1], flush=True)
    return tables


def _measured(size: int, folder: Path) -> Table:
    corpus = Corpus(size)
    queries = corpus.queries(QUERIES)
    library, own = library_of(corpus, folder / "library")
    with library:
        own_time = timed(own.search, queries)
        answered = sum(bool(library.search(query)) for query in queries) / len(queries)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        new = findable(library, 10)
    makers: list[Callable[[Corpus, Path], Built]] = [fts5_of]
    if size <= _BM25S_UP_TO:
        makers.append(bm25s_of)
    if size <= _SLOW_PEERS_UP_TO:
        makers += [langchain_of, llama_index_of]
    peers: list[tuple[Built, Spread]] = []
    for number, maker in enumerate(makers):
        built = maker(corpus, folder / str(number))
        peers.append((built, timed(built.search, queries[: 60 if size > _SLOW_PEERS_UP_TO else 100])))
    baseline = peers[0][1]
    rows = [Row(f"query, {own.name}", own_time, baseline)]
    rows += [Row(f"query, {built.name}", measured, baseline) for built, measured in peers]
    rows.append(Row("new document until found", new))
    builds = "; ".join(
        f"{one.name} {one.seconds:.1f} s, {one.disk_bytes / 1e6:.0f} MB" for one in [own, *(b for b, _ in peers)]
    )
    return Table(
        title=f"Local search, {size:,} passages of {WORDS_OF_A_PASSAGE} words",
        rows=tuple(rows),
        aim="p99 below 10 ms at 1M passages, below 3 ms at 100k; a new document found within 200 ms.",
        verdict=f"build (with records and originals) and disk: {builds}; process memory {memory:.0f} MB; "
        f"{answered:.0%} of the queries answered above the floor.",
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("passages", nargs="*", type=int, default=[10_000, 100_000])
    main(arguments.parse_args().passages)
