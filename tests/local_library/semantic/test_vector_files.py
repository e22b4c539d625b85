"""Vectors on the disk: rows that count only when they are whole, zeros over what goes, no mixing of spaces."""

from pathlib import Path

import numpy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local_library.semantic.entries import VectorEntry, VectorSpace
from local_library.semantic.vector_files import LINEAGE, VectorFiles, VectorsUnusable, as_rows

SPACE = VectorSpace("one", "model", 4)


def entries(*ids: int) -> list[VectorEntry]:
    return [VectorEntry(one, f"{one:020x}", f"{one:032x}", f"{one:064x}") for one in ids]


def rows(*firsts: int) -> numpy.typing.NDArray[numpy.int8]:
    return numpy.array([[first, 2, 3, 127] for first in firsts], numpy.int8)


@pytest.fixture
def files(tmp_path: Path) -> VectorFiles:
    """An empty folder of vectors."""
    return VectorFiles(tmp_path / "vectors")


def held(files: VectorFiles) -> dict[int, int]:
    """The first number of each living row by its passage."""
    state = files.state()
    assert state is not None
    numbers, lineage = files.mapped(state)
    return {int(two["passage"]): int(one[0]) for one, two in zip(numbers, lineage, strict=True) if two["passage"]}


def test_rows_are_added_behind_those_that_are_there(files: VectorFiles) -> None:
    """Adding touches nothing that was written before."""
    files.append(SPACE, entries(1, 2), rows(11, 12))
    before = {path: path.read_bytes() for path in files.folder.iterdir() if path.name != "state.json"}
    files.append(SPACE, entries(3), rows(13))
    assert held(files) == {1: 11, 2: 12, 3: 13}
    assert all(path.read_bytes().startswith(content) for path, content in before.items())


def test_what_a_killed_writer_left_does_not_count_and_is_cut_off(files: VectorFiles) -> None:
    """Half a row behind the counted ones is invisible, and the next rows lie in its place."""
    files.append(SPACE, entries(1), rows(11))
    for path in files.folder.iterdir():
        if path.name != "state.json":
            path.write_bytes(path.read_bytes() + b"half of a row")
    assert held(files) == {1: 11}
    files.append(SPACE, entries(2), rows(12))
    assert held(files) == {1: 11, 2: 12}
    assert next(files.folder.glob("rows-*")).stat().st_size == 2 * SPACE.dimensions
    assert next(files.folder.glob("lineage-*")).stat().st_size == 2 * LINEAGE.itemsize


def test_overwritten_rows_leave_no_byte(files: VectorFiles) -> None:
    """Numbers and lineage are zeros afterwards; the others stand where they stood."""
    files.append(SPACE, entries(1, 2, 3), rows(11, 99, 13))
    files.overwrite(numpy.array([1]))
    assert held(files) == {1: 11, 3: 13}
    for path in files.folder.iterdir():
        assert bytes([99, 2, 3, 127]) not in path.read_bytes()
        assert f"{2:020x}".encode() not in path.read_bytes()


def test_compaction_keeps_the_living_rows_and_drops_every_other_file(files: VectorFiles) -> None:
    """Afterwards there are the state and two files, of the living rows alone."""
    files.append(SPACE, entries(1, 2, 3), rows(11, 12, 13))
    files.overwrite(numpy.array([0]))
    (files.folder / "nearest-old-3-10.usearch").write_bytes(b"graph")
    files.compact()
    assert held(files) == {2: 12, 3: 13}
    state = files.state()
    assert state is not None
    assert (state.rows, state.dead) == (2, 0)
    assert len(list(files.folder.iterdir())) == 3
    assert sum(path.stat().st_size for path in files.folder.glob("rows-*")) == 8


def test_a_reader_keeps_what_it_mapped_while_rows_are_compacted(files: VectorFiles) -> None:
    """A search that goes on meanwhile reads the old file to its end."""
    files.append(SPACE, entries(1, 2), rows(11, 12))
    state = files.state()
    assert state is not None
    numbers, _ = files.mapped(state)
    files.compact()
    assert numbers[:, 0].tolist() == [11, 12]


@pytest.mark.parametrize("other", [VectorSpace("two", "model", 4), VectorSpace("one", "other", 4)])
def test_another_space_never_joins_the_vectors_of_the_first(files: VectorFiles, other: VectorSpace) -> None:
    """The old ones go before the first new one comes."""
    files.append(SPACE, entries(1), rows(11))
    files.append(other, entries(2), rows(12))
    assert held(files) == {2: 12}


@pytest.mark.parametrize("damage", ["rows-*", "lineage-*", "state.json"])
def test_damaged_files_are_told_and_not_read(files: VectorFiles, damage: str) -> None:
    """Cut off or missing, each file is missed."""
    files.append(SPACE, entries(1, 2), rows(11, 12))
    path = next(files.folder.glob(damage))
    path.write_bytes(path.read_bytes()[:3])
    with pytest.raises(VectorsUnusable):
        held(files)


def test_after_damage_the_files_begin_anew(files: VectorFiles) -> None:
    """A state that cannot be read does not stand in the way of new vectors."""
    files.append(SPACE, entries(1), rows(11))
    (files.folder / "state.json").write_text("{")
    files.append(SPACE, entries(2), rows(12))
    assert held(files) == {2: 12}


def test_a_layout_of_another_version_is_not_read(files: VectorFiles) -> None:
    """What another program wrote is made anew, not guessed at."""
    files.append(SPACE, entries(1), rows(11))
    state = files.folder / "state.json"
    state.write_text(state.read_text().replace('"layout": 1', '"layout": 2'))
    with pytest.raises(VectorsUnusable, match="layout"):
        files.state()


@given(st.lists(st.lists(st.floats(-1e3, 1e3, width=32), min_size=5, max_size=5), min_size=1, max_size=4))
@example([[0.0, 0.0, 0.0, 0.0, 1.1754943508222875e-38]])
def test_rows_point_where_their_vectors_do(vectors: list[list[float]]) -> None:
    """Whole numbers of one byte keep the direction to within half a step; a vector of zeros stays one."""
    found = numpy.array(vectors, numpy.float32)
    for vector, row in zip(found, as_rows(found), strict=True):
        largest = float(abs(vector).max())
        if largest == 0:
            assert not row.any()
            continue
        assert abs(row.astype(float) - vector.astype(float) / largest * 127).max() <= 0.51
