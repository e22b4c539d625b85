"""The local library and its peers, each built over the same passages and asked the same questions."""

import hashlib
import importlib
import os
import resource
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_library import DomainLibrary, LibraryLimits
from local_library.records import ExtractedText, Segment, SegmentKind

PASSAGES_OF_A_DOCUMENT = 200
ANSWERS = 5
_DIMENSIONS = 256


@dataclass(frozen=True, slots=True)
class Built:
    """An engine ready to be asked; ``add`` takes one more passage, where the engine can without building anew."""

    search: Callable[[str], object]
    add: Callable[[str], object] | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """How an engine is built, up to how many passages it is bearable, and what its answer is."""

    name: str
    build: Callable[[Sequence[str], Path], Built]
    most_passages: int
    queries: int
    answer: str


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


def local_library(folder: Path) -> DomainLibrary:
    """The library of a store that `library_of` built."""
    return DomainLibrary(folder, extractor=Prepared(), limits=LibraryLimits(passages=5_000_000))


def library_of(passages: Sequence[str], folder: Path) -> Built:
    library = local_library(folder)
    library.import_many(_documents(passages))

    def add(text: str) -> object:
        return library.import_bytes(f"/new/{hashlib.sha256(text.encode()).hexdigest()}", text.encode())

    return Built(library.search, add)


def _documents(passages: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, len(passages), PASSAGES_OF_A_DOCUMENT):
        yield f"/corpus/{start}", "\n\n".join(passages[start : start + PASSAGES_OF_A_DOCUMENT]).encode()


def fts5_of(passages: Sequence[str], folder: Path) -> Built:
    connection = sqlite3.connect(folder / "fts.sqlite")
    connection.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize='porter')")
    with connection:
        connection.executemany("INSERT INTO passages VALUES (?)", ((text,) for text in passages))

    def search(query: str) -> list[str]:
        wanted = " OR ".join(f'"{word}"' for word in query.replace('"', " ").split())
        found = f"SELECT text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages) LIMIT {ANSWERS}"  # noqa: S608
        return [row[0] for row in connection.execute(found, (wanted,))]

    def add(text: str) -> None:
        with connection:
            connection.execute("INSERT INTO passages VALUES (?)", (text,))

    return Built(search, add)


def bm25s_of(passages: Sequence[str], folder: Path) -> Built:
    import bm25s

    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(passages, show_progress=False), show_progress=False)
    retriever.save(folder, show_progress=False)

    def search(query: str) -> object:
        return retriever.retrieve(bm25s.tokenize([query], show_progress=False), k=ANSWERS, show_progress=False)

    return Built(search)


def langchain_of(passages: Sequence[str], folder: Path) -> Built:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.retrievers import BM25Retriever

    return Built(BM25Retriever.from_texts(passages, k=ANSWERS).invoke)


def llama_index_of(passages: Sequence[str], folder: Path) -> Built:
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [TextNode(text=text) for text in passages]
    return Built(BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=ANSWERS).retrieve)


def chroma_of(passages: Sequence[str], folder: Path) -> Built:
    """Chroma with vectors of its own kind made here, since its default model is a download: words hashed to signs."""
    chromadb = importlib.import_module("chromadb")
    client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("passages", embedding_function=None)

    def put(first: int, texts: Sequence[str]) -> None:
        ids = [str(first + number) for number in range(len(texts))]
        collection.add(ids=ids, documents=list(texts), embeddings=[_vector(text) for text in texts])

    for start in range(0, len(passages), 5_000):
        put(start, passages[start : start + 5_000])

    def search(query: str) -> object:
        return collection.query(query_embeddings=[_vector(query)], n_results=ANSWERS)

    return Built(search, lambda text: put(time.monotonic_ns(), [text]))


def _vector(text: str) -> list[float]:
    made = [0.0] * _DIMENSIONS
    for word in text.lower().split():
        place = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
        made[place % _DIMENSIONS] += 1.0 if place & 0x8000_0000 else -1.0
    return made


_FULL, _SOME = 1_000_000, 100_000
OWN = Engine("local library", library_of, 5_000_000, 1_000, "passages above the floor, with locators")
PEERS = (
    Engine("SQLite FTS5 porter", fts5_of, _FULL, 60, "texts"),
    Engine("bm25s", bm25s_of, _FULL, 300, "numbers of passages"),
    Engine("LangChain BM25Retriever", langchain_of, _SOME, 20, "texts"),
    Engine("LlamaIndex BM25Retriever", llama_index_of, _SOME, 300, "texts"),
    Engine("Chroma, hashed words as vectors", chroma_of, _SOME, 300, "texts by vector, no words"),
)


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def peak_bytes() -> int:
    """The most memory that this process has held; macOS counts bytes, Linux kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)


def memory_of_machine() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


__all__ = ["OWN", "PEERS", "Built", "Engine", "disk_bytes", "local_library", "memory_of_machine", "peak_bytes"]
