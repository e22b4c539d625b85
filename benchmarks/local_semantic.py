"""The semantic half of the local library: what it finds beside words, what it lets in, and what its index costs.

Run with ``python benchmarks/local_semantic.py [--data FOLDER] [--queries N] [--rows N ...]``. Quality needs the judged
collections (see local_quality.py); without them that part says so and a small cross-language set of the project's own
is measured. The index part needs none: vectors are drawn around random topics with a fixed seed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy
import numpy.typing

from benchmarks.local_quality import Collection, Ranking, WholeText, loaded, misheard, scores
from benchmarks.measure import Row, Table, spread
from local_library import DomainLibrary, OfflineEmbedder
from local_library.retriever import FLOOR
from local_library.semantic.entries import VectorEntry, VectorSpace
from local_library.semantic.vector_store import OwnerVectorStore

LIKE_FOR_LIKE = ("cranfield", "cmrc", "dstc10_last")
PAIRS = (("en", "de"), ("en", "es"), ("en", "ru"), ("en", "zh"), ("de", "en"), ("de", "zh"))
FLOORS = (0.30, 0.40)
SMALL = (
    ("leave", "Every employee has thirty days of annual leave per year.", "Wie viele Urlaubstage habe ich im Jahr?"),
    ("printer", "The printer stands on the second floor next to the kitchen.", "¿Dónde está la impresora?"),
    ("fire", "In case of fire leave the building by the stairs.", "着火时怎么离开大楼？"),
    ("visitors", "Visitors sign in at the reception desk and wear a badge.", "Что должны носить посетители?"),
    ("coffee", "The coffee machine is cleaned every Friday afternoon.", "Quand la machine à café est-elle nettoyée ?"),
)
Vectors = numpy.typing.NDArray[numpy.float32]


class Remembering(OfflineEmbedder):
    """The shipped embedder, which embeds no question twice in this run."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        if not query:
            return super().embed(texts)
        for text in texts:
            if text not in self._known:
                self._known[text] = super().embed([text])[0]
        return numpy.array([self._known[text] for text in texts])


def filled(collection: Collection, store: Path, embedder: Remembering) -> None:
    with DomainLibrary(store, extractor=WholeText(), embedder=embedder) as library:
        library.import_many(
            (f"/{key}", f"{title}\n{text or title}".encode()) for key, title, text in collection.documents
        )
        library.semantic.embed_missing()


def opened(store: Path, embedder: Remembering | None, floor: float | None = None) -> DomainLibrary:
    return DomainLibrary(store, extractor=WholeText(), embedder=embedder, similarity_floor=floor)


def ranked_by(library: DomainLibrary) -> Ranking:
    def rank(query: str) -> list[str]:
        found = library.search(query[:500], limit=20, per_document=1)
        return list(dict.fromkeys(one.passage.path[1:] for one in found))

    return rank


def across(asked: Collection, documents: str) -> Collection:
    """The questions of one language over the paragraphs of another; the same paragraph is the answer."""
    kept = [one for one in asked.documents if one[0].startswith(f"{documents}-")]
    own = asked.name.removeprefix("xquad_")
    judged = {
        key: {name.replace(f"{own}-", f"{documents}-"): grade for name, grade in grades.items()}
        for key, grades in asked.judgements.items()
    }
    return Collection(f"{own} asks {documents}", kept, asked.queries, judged)


def collections(data: Path | None, most_queries: int, part: str | None) -> Iterator[tuple[Collection, list[str]]]:
    """Each collection of a part, or all, with questions that have no answer in it."""
    names = (*LIKE_FOR_LIKE, "xquad_en", "xquad_de")
    if data is None or not all((data / f"{name}.json.gz").exists() for name in names):
        print("No judged collections were given with --data; measured on five sentences alone.\n")
        documents = [(key, key, text) for key, text, _ in SMALL]
        asked = [(key, question) for key, _, question in SMALL]
        yield Collection("five sentences", documents, asked, {key: {key: 1} for key, _ in asked}), []
        return
    known = {name: loaded(data, name, most_queries) for name in names}
    for name in LIKE_FOR_LIKE if part != "across" else ():
        yield known[name], [text for other in names if other != name for _, text in known[other].queries[:25]]
    strangers = [text for name in LIKE_FOR_LIKE for _, text in known[name].queries[:35]]
    for own in ("en", "de") if part != "across" else ():
        yield replace(across(known[f"xquad_{own}"], own), name=f"{own} asks {own}"), strangers
    for asks, answers in PAIRS if part != "like" else ():
        yield across(known[f"xquad_{asks}"], answers), strangers


def quality(data: Path | None, most_queries: int, part: str | None) -> None:
    """Print nDCG@10 by words alone and with meaning, and the share of foreign questions that find something."""
    embedder = Remembering()
    print(f"Floor of words {FLOOR}, of meaning {embedder.similarity_floor} unless the column says another.\n")
    head = " | ".join(f"foreign at {floor:.2f} | nDCG" for floor in FLOORS)
    print(
        f"| collection | nDCG@10 words | + meaning | misheard words | + meaning | foreign words | + meaning | {head} |"
    )
    print(f"|---|{'---:|' * (6 + 2 * len(FLOORS))}")
    for collection, foreign in collections(data, most_queries, part):
        with tempfile.TemporaryDirectory() as folder:
            filled(collection, Path(folder) / "store", embedder)
            print(_quality_line(collection, foreign, Path(folder) / "store", embedder), flush=True)


def _quality_line(collection: Collection, foreign: list[str], store: Path, embedder: Remembering) -> str:
    noisy = [(key, misheard(text, key)) for key, text in collection.queries]
    cells: list[float] = []
    with opened(store, None) as words, opened(store, embedder) as meaning:
        for asked in (collection.queries, noisy):
            cells += [scores(ranked_by(one), collection, asked)[0] for one in (words, meaning)]
        cells += [_accepted(one, foreign) for one in (words, meaning)]
    for floor in FLOORS:
        with opened(store, embedder, floor) as library:
            cells += [_accepted(library, foreign), scores(ranked_by(library), collection, collection.queries)[0]]
    return f"| {collection.name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |"


def _accepted(library: DomainLibrary, foreign: Sequence[str]) -> float:
    """The share of ``foreign`` questions that find something."""
    return sum(bool(library.search(text[:500], limit=1)) for text in foreign) / max(1, len(foreign))


def embedding() -> Table:
    """How long a question and a passage take, once the model is loaded."""
    embedder = OfflineEmbedder()
    began = time.perf_counter()
    embedder.load()
    loading = time.perf_counter() - began
    question = "When is the coffee machine in the kitchen on the second floor cleaned?"
    passage = " ".join(text for _, text, _ in SMALL) + " " + " ".join(text for _, text, _ in SMALL)
    rows = [
        Row(
            f"a question of {len(question)} characters", spread([_milliseconds(embedder, question) for _ in range(200)])
        ),
        Row(f"a passage of {len(passage)} characters", spread([_milliseconds(embedder, passage) for _ in range(100)])),
    ]
    return Table(
        "Embedding, one thread", tuple(rows), aim="a question within 5 ms.", verdict=f"loading {loading:.2f} s."
    )


def _milliseconds(embedder: OfflineEmbedder, text: str) -> float:
    began = time.perf_counter()
    embedder.embed([text])
    return (time.perf_counter() - began) * 1_000


def drawn(rows: int, dimensions: int) -> Vectors:
    """Vectors around a thousand topics, as texts lie: not evenly in all directions."""
    draw = numpy.random.default_rng(7)
    topics = draw.standard_normal((1_000, dimensions)).astype(numpy.float32)
    made = topics[draw.integers(0, 1_000, rows)]
    made += draw.standard_normal((rows, dimensions), dtype=numpy.float32) * 0.8
    return made


def index(rows: int, dimensions: int, queries: int = 200) -> Table:
    """Compare every row (numpy) and the graph of neighbours (usearch) over the same vectors."""
    vectors, space = drawn(rows, dimensions), VectorSpace("drawn", "topics", dimensions)
    asked = drawn(rows, dimensions)[:queries] + numpy.random.default_rng(8).standard_normal(
        (queries, dimensions), dtype=numpy.float32
    ) * numpy.float32(0.4)
    with tempfile.TemporaryDirectory() as folder:
        exact = OwnerVectorStore(Path(folder), exact_rows=10**9)
        for start in range(0, rows, 50_000):
            exact.add(
                "owner",
                space,
                [_entry(one) for one in range(start, min(rows, start + 50_000))],
                vectors[start : start + 50_000],
            )
        disk = _disk(Path(folder))
        found, took = _searched(exact, space, asked)
        graph = OwnerVectorStore(Path(folder), exact_rows=1_000)
        began = time.perf_counter()
        unfinished = graph.graph_made("owner", lambda: True)
        if unfinished is None:
            raise SystemExit("usearch is not installed: pip install 'earpiece[semantic]'")
        graph.publish_graph("owner", unfinished)
        building = time.perf_counter() - began
        near, quick = _searched(graph, space, asked)
        both = _disk(Path(folder))
    recall = sum(len(a & b) for a, b in zip(found, near, strict=True)) / sum(map(len, found))
    rows_ = (
        Row("every row, numpy", spread(took), spread(took)),
        Row("graph of neighbours, usearch", spread(quick), spread(took)),
    )
    verdict = (
        f"recall@10 {recall:.3f}; graph made in {building:.1f} s on one thread; "
        f"disk {disk:.0f} MB of vectors, {both - disk:.0f} MB of graph; "
        f"memory of comparing every row {rows * dimensions * 4 / 1e6:.0f} MB, of the graph what is mapped."
    )
    return Table(f"Nearest of {rows:,} vectors of {dimensions}", rows_, aim="recall@10 of 0.95.", verdict=verdict)


def _entry(one: int) -> VectorEntry:
    return VectorEntry(one + 1, f"{one // 20:020x}", f"{one:032x}", f"{one // 20:064x}")


def _disk(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _searched(store: OwnerVectorStore, space: VectorSpace, asked: Vectors) -> tuple[list[set[int]], list[float]]:
    """What each question finds, and how many milliseconds it took; the first is asked once before."""
    store.search("owner", space, asked[0], 10)
    found, took = [], []
    for vector in asked:
        began = time.perf_counter()
        hits = store.search("owner", space, vector, 10)
        took.append((time.perf_counter() - began) * 1_000)
        found.append({hit.passage_id for hit in hits})
    return found, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--part", choices=["like", "across", "index"], help="one part alone")
    chosen = parser.parse_args()
    if chosen.part != "index":
        quality(chosen.data, chosen.queries, chosen.part)
        print(f"\n{embedding()}\n")
    if chosen.part in (None, "index"):
        for rows in chosen.rows:
            print(f"{index(rows, chosen.dimensions)}\n", flush=True)


if __name__ == "__main__":
    main()
