"""The vector store: exact for few rows, a graph for many, one folder for each owner, and nothing that stays behind."""

from pathlib import Path

import numpy
import numpy.typing
import pytest

from local_library.originals import owner_tag
from local_library.semantic.entries import VectorEntry, VectorSpace
from local_library.semantic.vector_files import as_rows
from local_library.semantic.vector_store import OwnerVectorStore

SPACE = VectorSpace("one", "model", 32)
Vectors = numpy.typing.NDArray[numpy.float32]


def drawn(count: int, seed: int = 1) -> Vectors:
    return numpy.random.default_rng(seed).standard_normal((count, SPACE.dimensions)).astype(numpy.float32)


def entries(count: int, *, first: int = 1) -> list[VectorEntry]:
    """Passages numbered from ``first``, ten to a document."""
    return [
        VectorEntry(one, f"{one // 10:020x}", f"{one:032x}", f"{one // 10:064x}") for one in range(first, first + count)
    ]


def nearest(vectors: Vectors, asked: Vectors, limit: int) -> list[int]:
    """The passages (from 1) that numpy finds nearest."""
    cosines = (vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)) @ (asked / numpy.linalg.norm(asked))
    return [int(place) + 1 for place in numpy.argsort(-cosines)[:limit]]


def with_graph(store: OwnerVectorStore, owner_id: str = "ann") -> None:
    unfinished = store.graph_made(owner_id, lambda: True)
    assert unfinished is not None
    store.publish_graph(owner_id, unfinished)


@pytest.fixture
def store(tmp_path: Path) -> OwnerVectorStore:
    """An empty store that compares every row up to four hundred."""
    return OwnerVectorStore(tmp_path / "vectors", exact_rows=400)


@pytest.fixture
def large(store: OwnerVectorStore) -> tuple[OwnerVectorStore, Vectors]:
    """A store with so many vectors that a graph is made of them."""
    vectors = drawn(800)
    store.add("ann", SPACE, entries(800), vectors)
    with_graph(store)
    return store, vectors


def test_few_rows_are_searched_exactly(store: OwnerVectorStore) -> None:
    """The nearest passages are those of numpy, with their cosines, best first."""
    vectors = drawn(300)
    store.add("ann", SPACE, entries(300), vectors)
    for asked in drawn(20, seed=2):
        hits = store.search("ann", SPACE, asked, 5)
        expected = nearest(vectors, asked, 5)
        assert hits[0].passage_id == expected[0]
        assert len({hit.passage_id for hit in hits} & set(expected)) >= 4
        assert hits[0].similarity == pytest.approx(
            float(
                vectors[expected[0] - 1]
                @ asked
                / numpy.linalg.norm(vectors[expected[0] - 1])
                / numpy.linalg.norm(asked)
            ),
            abs=0.01,
        )
        assert [hit.similarity for hit in hits] == sorted((hit.similarity for hit in hits), reverse=True)


def test_a_graph_finds_nearly_what_comparing_all_finds(large: tuple[OwnerVectorStore, Vectors], tmp_path: Path) -> None:
    """Of the ten nearest nine and a half on average, the very nearest first."""
    store, vectors = large
    assert list((tmp_path / "vectors" / owner_tag("ann")).glob("nearest-*.usearch"))
    found = same_first = 0
    for asked in drawn(50, seed=2):
        expected = nearest(vectors, asked, 10)
        hits = [hit.passage_id for hit in store.search("ann", SPACE, asked, 10)]
        found += len(set(hits) & set(expected))
        same_first += hits[0] == expected[0]
    assert found >= 475
    assert same_first >= 47


def test_what_came_after_the_graph_is_found_at_once(large: tuple[OwnerVectorStore, Vectors]) -> None:
    """New rows are compared beside the graph; it is not made anew for a few of them."""
    store, _ = large
    fresh = drawn(20, seed=3)
    store.add("ann", SPACE, entries(20, first=5_001), fresh)
    assert store.graph_made("ann", lambda: True) is None
    for place, vector in enumerate(fresh):
        assert store.search("ann", SPACE, vector, 1)[0].passage_id == 5_001 + place


def test_many_new_rows_want_a_new_graph(large: tuple[OwnerVectorStore, Vectors], tmp_path: Path) -> None:
    """The new one takes the old one's place."""
    store, _ = large
    store.add("ann", SPACE, entries(160, first=5_001), drawn(160, seed=3))
    with_graph(store)
    graphs = list((tmp_path / "vectors" / owner_tag("ann")).glob("nearest-*"))
    assert len(graphs) == 1
    assert "-960-" in graphs[0].name


def test_a_graph_that_was_told_to_stop_leaves_nothing(store: OwnerVectorStore, tmp_path: Path) -> None:
    """Closing the library does not wait for it."""
    store.add("ann", SPACE, entries(800), drawn(800))
    steps = iter([True, False])
    assert store.graph_made("ann", lambda: next(steps)) is None
    assert not list((tmp_path / "vectors" / owner_tag("ann")).glob("nearest-*"))


def test_a_graph_of_rows_that_were_compacted_meanwhile_is_not_taken(store: OwnerVectorStore) -> None:
    """It may hold what was erased."""
    store.add("ann", SPACE, entries(800), drawn(800))

    def go_on() -> bool:
        store.compact("ann")
        return True

    unfinished = store.graph_made("ann", go_on)
    assert unfinished is not None
    assert unfinished.exists()
    store.publish_graph("ann", unfinished)
    assert not unfinished.exists()
    assert not list(unfinished.parent.glob("nearest-*"))


@pytest.mark.parametrize("damage", [b"", b"no graph at all"])
def test_a_damaged_graph_is_done_without(
    large: tuple[OwnerVectorStore, Vectors], tmp_path: Path, damage: bytes
) -> None:
    """Cut off or overwritten, every row is compared instead."""
    _, vectors = large
    graph = next((tmp_path / "vectors" / owner_tag("ann")).glob("nearest-*.usearch"))
    graph.write_bytes(damage or graph.read_bytes()[:-100])
    if damage:
        graph.rename(graph.with_name("-".join([*graph.stem.split("-")[:3], str(len(damage))]) + ".usearch"))
    again = OwnerVectorStore(tmp_path / "vectors", exact_rows=400)
    asked = drawn(1, seed=2)[0]
    assert [hit.passage_id for hit in again.search("ann", SPACE, asked, 1)] == nearest(vectors, asked, 1)


@pytest.mark.parametrize("size", [300, 800])
def test_a_search_stays_within_the_named_documents(store: OwnerVectorStore, size: int) -> None:
    """The nearest of these documents, however many others are nearer."""
    vectors = drawn(size)
    store.add("ann", SPACE, entries(size), vectors)
    if size > 400:
        with_graph(store)
    hits = store.search("ann", SPACE, vectors[4], 30, document_ids=[f"{2:020x}", f"{7:020x}"])
    assert {hit.passage_id for hit in hits} == {*range(20, 30), *range(70, 80)}
    assert store.search("ann", SPACE, vectors[4], 5, document_ids=[]) == []


def test_owners_share_nothing(store: OwnerVectorStore, tmp_path: Path) -> None:
    """Each has a folder that does not show who it is; no search reaches another's."""
    vectors = drawn(10)
    store.add("ann", SPACE, entries(10), vectors)
    assert store.search("bob", SPACE, vectors[0], 5) == []
    assert [path.name for path in (tmp_path / "vectors").iterdir()] == [owner_tag("ann")]
    store.add("bob", SPACE, entries(1, first=77), vectors[:1])
    store.erase("ann")
    assert store.search("ann", SPACE, vectors[0], 5) == []
    assert store.search("bob", SPACE, vectors[0], 5)[0].passage_id == 77
    assert [path.name for path in (tmp_path / "vectors").iterdir()] == [owner_tag("bob")]


def test_memory_holds_the_owners_searched_lately_up_to_a_bound(tmp_path: Path) -> None:
    """With many owners the least lately searched makes room, and is found again from the disk."""
    vectors = drawn(100)
    bytes_of_one = 100 * (8 + 4 * SPACE.dimensions)
    store = OwnerVectorStore(tmp_path / "vectors", kept_bytes=2 * bytes_of_one)
    for owner in ("ann", "bob", "eve"):
        store.add(owner, SPACE, entries(100), vectors)
        assert store.search(owner, SPACE, vectors[7], 1)[0].passage_id == 8
    assert list(store._opened) == ["bob", "eve"]
    assert store.search("ann", SPACE, vectors[7], 1)[0].passage_id == 8
    assert list(store._opened) == ["eve", "ann"]


def test_another_space_finds_nothing(store: OwnerVectorStore) -> None:
    """A question of one embedder is never compared with vectors of another."""
    vectors = drawn(10)
    store.add("ann", SPACE, entries(10), vectors)
    assert store.search("ann", VectorSpace("two", "model", 32), vectors[0], 5) == []
    assert store.held("ann", VectorSpace("one", "other", 32)) == set()
    assert len(store.held("ann")) == 10


def test_adding_twice_changes_nothing(store: OwnerVectorStore) -> None:
    """Two processes that embed the same passages keep one vector of each."""
    vectors = drawn(10)
    store.add("ann", SPACE, entries(6), vectors[:6])
    store.add("ann", SPACE, entries(10), vectors)
    assert len(store.lineage("ann")) == 10


@pytest.mark.parametrize("size", [300, 800])
def test_a_forgotten_document_is_found_no_more_and_leaves_no_byte(
    store: OwnerVectorStore, tmp_path: Path, size: int
) -> None:
    """Its rows are overwritten at once; what a graph holds of them goes with compaction."""
    vectors = drawn(size)
    store.add("ann", SPACE, entries(size), vectors)
    if size > 400:
        with_graph(store)
    store.search("ann", SPACE, vectors[0], 1)
    store.forget("ann", [f"{3:020x}"])
    assert store.search("ann", SPACE, vectors[33], 3)[0].passage_id not in range(30, 40)
    assert store.held("ann") == set(range(1, size + 1)) - set(range(30, 40))
    everything = [hit.passage_id for hit in store.search("ann", SPACE, vectors[0], size)]
    assert 0 not in everything
    assert set(range(30, 40)).isdisjoint(everything)
    store.compact("ann")
    kept = [path.read_bytes() for path in (tmp_path / "vectors").rglob("*") if path.is_file()]
    for row in as_rows(vectors[29:39]):
        assert not any(row.tobytes() in content for content in kept)
    assert any(as_rows(vectors[:1]).tobytes() in content for content in kept)


def test_a_vector_that_was_changed_on_the_disk_is_counted(store: OwnerVectorStore, tmp_path: Path) -> None:
    """One flipped bit is one damaged vector."""
    store.add("ann", SPACE, entries(10), drawn(10))
    assert store.damaged("ann") == 0
    path = next((tmp_path / "vectors" / owner_tag("ann")).glob("rows-*"))
    content = bytearray(path.read_bytes())
    content[70] ^= 4
    path.write_bytes(content)
    assert store.damaged("ann") == 1


def test_strays_of_owners_and_documents_that_are_gone_are_dropped(store: OwnerVectorStore, tmp_path: Path) -> None:
    """What a killed erasure left, the next one finishes."""
    vectors = drawn(30)
    store.add("ann", SPACE, entries(30), vectors)
    store.add("bob", SPACE, entries(3), vectors[:3])
    store.drop_strays({"ann": [f"{one:020x}" for one in (0, 2, 3)]})
    assert store.held("ann") == set(range(1, 31)) - set(range(10, 20))
    assert not (tmp_path / "vectors" / owner_tag("bob")).exists()


def test_rows_half_overwritten_are_finished(store: OwnerVectorStore, tmp_path: Path) -> None:
    """A writer killed between numbers and lineage leaves rows that recovery drops."""
    store.add("ann", SPACE, entries(30), drawn(30))
    path = next((tmp_path / "vectors" / owner_tag("ann")).glob("rows-*"))
    content = path.read_bytes()
    path.write_bytes(bytes(SPACE.dimensions * 2) + content[SPACE.dimensions * 2 :])
    assert store.damaged("ann") == 2
    store.drop_strays({"ann": [f"{one:020x}" for one in range(4)]})
    assert store.damaged("ann") == 0
    assert store.held("ann") == set(range(3, 31))


def test_a_vector_without_direction_finds_nothing(store: OwnerVectorStore) -> None:
    """Zeros are near to nothing, neither as a question nor as a passage."""
    vectors = drawn(3)
    vectors[1] = 0
    store.add("ann", SPACE, entries(3), vectors)
    assert store.search("ann", SPACE, vectors[1], 5) == []
    assert store.search("ann", SPACE, vectors[0], 5)[0].passage_id == 1
