"""The vectors of one owner on the disk: whole numbers of one byte in one file, their lineage in another.

Rows are only added, or overwritten with zeros when their passage goes. ``state.json`` says how many rows count; what
lies beyond, since a writer was killed, is cut off by the next one. Compaction writes new files of another generation.
"""

import json
import os
import shutil
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy
import numpy.typing

from .entries import VectorEntry, VectorSpace

Rows = numpy.typing.NDArray[numpy.int8]
Lineage = numpy.typing.NDArray[numpy.void]
LINEAGE = numpy.dtype([("passage", "<i8"), ("document", "S20"), ("chunk", "S32"), ("hash", "S64"), ("check", "<u4")])
_LAYOUT = 1
_COPIED_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class VectorState:
    """What the files hold. ``dead`` rows were overwritten; ``changes`` counts the times that rows were."""

    embedder_id: str
    model: str
    dimensions: int
    generation: str = field(default_factory=lambda: uuid.uuid4().hex)
    rows: int = 0
    dead: int = 0
    changes: int = 0
    layout: int = _LAYOUT

    @property
    def space(self) -> VectorSpace:
        return VectorSpace(self.embedder_id, self.model, self.dimensions)


class VectorsUnusable(OSError):
    """Raised when the files do not hold what their state says; the records can make them anew."""


class VectorFiles:
    """Reads and writes one folder. One thread writes at a time, inside the workspace's `writing`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def state(self) -> VectorState | None:
        """None where there are no vectors. Raises `VectorsUnusable` when it cannot be read."""
        try:
            found = VectorState(**json.loads((self.folder / "state.json").read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise VectorsUnusable(f"the state of the vectors in {self.folder} cannot be read") from error
        if found.layout != _LAYOUT:
            raise VectorsUnusable(f"the vectors in {self.folder} have another layout")
        return found

    def mapped(self, state: VectorState) -> tuple[Rows, Lineage]:
        """The rows (rows, dimensions) and their lineage, mapped from the disk. Raises `VectorsUnusable`."""
        if not state.rows:
            return numpy.empty((0, state.dimensions), numpy.int8), numpy.empty(0, LINEAGE)
        try:
            rows = numpy.memmap(self._rows(state), numpy.int8, "r", shape=(state.rows, state.dimensions))
            lineage = numpy.memmap(self._lineage(state), LINEAGE, "r", shape=(state.rows,))
        except (OSError, ValueError) as error:
            raise VectorsUnusable(f"the vectors in {self.folder} are cut off or missing") from error
        return rows, lineage

    def append(self, space: VectorSpace, entries: Sequence[VectorEntry], rows: Rows) -> None:
        """Add ``rows`` (entries, dimensions); they count once all is on the disk. Another space's vectors go first."""
        state = self._usable(space)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = numpy.array(
            [
                (one.passage_id, one.document_id.encode(), one.chunk_id.encode(), one.source_content_hash.encode(), 0)
                for one in entries
            ],
            dtype=LINEAGE,
        )
        made["check"] = checks(rows)
        _write_at(self._rows(state), state.rows * state.dimensions, rows.tobytes())
        _write_at(self._lineage(state), state.rows * LINEAGE.itemsize, made.tobytes())
        self._settle(replace(state, rows=state.rows + len(made)))

    def overwrite(self, places: numpy.typing.NDArray[numpy.intp]) -> None:
        """Put zeros over the rows at ``places``, numbers first, so that a row without lineage has no numbers."""
        state = self.state()
        if state is None or not len(places):
            return
        for path, size in ((self._rows(state), state.dimensions), (self._lineage(state), LINEAGE.itemsize)):
            with path.open("r+b") as file:
                for place in places.tolist():
                    file.seek(place * size)
                    file.write(bytes(size))
                _sync(file.fileno())
        self._settle(replace(state, dead=state.dead + len(places), changes=state.changes + 1))

    def compact(self) -> None:
        """Write the rows that live into new files and drop every other file of this folder."""
        state = self.state()
        if state is None:
            return
        fresh = replace(state, generation=uuid.uuid4().hex, rows=0, dead=0)
        rows, lineage = self.mapped(state)
        for start in range(0, state.rows, _COPIED_ROWS):
            living = lineage["passage"][start : start + _COPIED_ROWS] != 0
            kept, of_kept = rows[start : start + _COPIED_ROWS][living], lineage[start : start + _COPIED_ROWS][living]
            _write_at(self._rows(fresh), fresh.rows * fresh.dimensions, kept.tobytes())
            _write_at(self._lineage(fresh), fresh.rows * LINEAGE.itemsize, of_kept.tobytes())
            fresh = replace(fresh, rows=fresh.rows + len(kept))
        self._settle(fresh)
        self.drop_unfinished()

    def drop_unfinished(self) -> None:
        """Remove the files that the state does not name: what a killed writer left."""
        state = self.state()
        if state is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for path in self.folder.iterdir():
            of_generation = path.stem.split("-")[1:2] == [state.generation]
            if path.name != "state.json" and (not of_generation or path.suffix == ".part"):
                self._unlink(path)

    def erase(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _usable(self, space: VectorSpace) -> VectorState:
        try:
            state = self.state()
        except VectorsUnusable:
            state = None
        if state is not None and state.space == space:
            return state
        self.erase()
        return VectorState(space.embedder_id, space.model, space.dimensions)

    def _settle(self, state: VectorState) -> None:
        unfinished = self.folder / "state.part"
        with unfinished.open("w", encoding="utf-8") as file:
            json.dump(asdict(state), file)
            file.flush()
            _sync(file.fileno())
        unfinished.replace(self.folder / "state.json")

    def _rows(self, state: VectorState) -> Path:
        return self.folder / f"rows-{state.generation}.i8"

    def _lineage(self, state: VectorState) -> Path:
        return self.folder / f"lineage-{state.generation}.bin"

    def _unlink(self, *paths: Path) -> None:
        for path in paths:
            path.unlink(missing_ok=True)


def as_rows(vectors: Any) -> Rows:
    """Vectors as whole numbers from -127 to 127, each row by its own largest number: directions are what counts."""
    found = numpy.asarray(vectors, dtype=numpy.float32)
    largest = numpy.abs(found).max(axis=1, keepdims=True)
    shares = numpy.divide(found, largest, out=numpy.zeros_like(found), where=largest > 0)
    made: Rows = numpy.rint(127 * shares).astype(numpy.int8)
    return made


def checks(rows: Rows) -> numpy.typing.NDArray[numpy.uint32]:
    """A checksum for each row, by which a damaged one is known."""
    return numpy.fromiter((zlib.crc32(row.tobytes()) for row in rows), numpy.uint32, count=len(rows))


def _write_at(path: Path, position: int, content: bytes) -> None:
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(position)  # what a killed writer left beyond
        file.seek(position)
        file.write(content)
        file.flush()
        _sync(file.fileno())


def _sync(descriptor: int) -> None:
    os.fsync(descriptor)


__all__ = ["LINEAGE", "Lineage", "Rows", "VectorFiles", "VectorState", "VectorsUnusable", "as_rows", "checks"]
