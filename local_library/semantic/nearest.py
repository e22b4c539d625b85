"""Which rows are nearest to a vector: every row of a small library, a graph of neighbours for a large one."""

import importlib.util
import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy
import numpy.typing

from .entries import VectorHit
from .vector_files import Lineage, Rows, VectorState

TAIL_SHARE = 0.1
"""The graph is made anew when more than this share of the rows came after it; until then they are compared too."""

_LOGGER = logging.getLogger(__name__)
_BLOCK_ROWS = 8_192
_CANDIDATES = 100
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 192
_ADDED_AT_ONCE = 512

Vector = numpy.typing.NDArray[numpy.float32]
Places = numpy.typing.NDArray[numpy.intp]


class Nearest:
    """One state of an owner's vectors, ready to be searched by many threads."""

    def __init__(self, folder: Path, state: VectorState, rows: Rows, lineage: Lineage, *, exact_rows: int) -> None:
        self.state = state
        self._rows = rows
        self._passages = numpy.array(lineage["passage"])
        self._documents = lineage["document"]
        self._graph: Any
        self._graph, self._in_graph = _loaded_graph(folder, state) if state.rows > exact_rows else (None, 0)
        self._all = _directions(rows) if state.rows <= exact_rows else None

    @property
    def memory_bytes(self) -> int:
        """What is held in memory, beside what is mapped from the disk."""
        return int(self._passages.nbytes + (self._all.nbytes if self._all is not None else 0))

    def search(self, vector: Vector, limit: int, *, document_ids: Collection[str] | None = None) -> list[VectorHit]:
        """The ``limit`` nearest passages, best first; equal ones in the order of their import."""
        length = float(numpy.linalg.norm(vector))
        if not self.state.rows or not length:
            return []
        asked = (vector / length).astype(numpy.float32)
        places = self._candidates(asked, max(limit, _CANDIDATES), document_ids)
        if places is None:
            similarity, places = self._against_all(asked), numpy.arange(self.state.rows)
        else:
            similarity = self._against(asked, places)
        return _best(similarity, self._passages[places], limit)

    def _candidates(self, asked: Vector, limit: int, document_ids: Collection[str] | None) -> Places | None:
        """The rows worth comparing, or None for all of them."""
        if document_ids is not None:
            wanted = numpy.array([one.encode() for one in document_ids], self._documents.dtype)
            return numpy.flatnonzero(numpy.isin(self._documents, wanted))
        if self._graph is None:
            return None
        near = self._graph.search(as_row(asked), limit).keys.astype(numpy.intp)
        return numpy.concatenate([near, numpy.arange(self._in_graph, self.state.rows)])

    def _against_all(self, asked: Vector) -> Vector:
        if self._all is not None:
            found: Vector = self._all @ asked
            return found
        return self._against(asked, numpy.arange(self.state.rows))

    def _against(self, asked: Vector, places: Places) -> Vector:
        blocks = [places[start : start + _BLOCK_ROWS] for start in range(0, len(places), _BLOCK_ROWS)]
        parts = [_directions(self._rows[block]) @ asked for block in blocks]
        return numpy.concatenate(parts) if parts else numpy.empty(0, numpy.float32)


def _best(similarity: Vector, passages: numpy.typing.NDArray[numpy.int64], limit: int) -> list[VectorHit]:
    """The ``limit`` most similar of the rows that live, without putting all of them in order."""
    living = passages != 0
    similarity, passages = similarity[living], passages[living]
    if len(similarity) > limit:
        least = numpy.partition(similarity, len(similarity) - limit)[len(similarity) - limit]
        similarity, passages = similarity[similarity >= least], passages[similarity >= least]
    found = sorted(zip((-similarity).tolist(), passages.tolist(), strict=True))[:limit]
    return [VectorHit(passage_id, -negative) for negative, passage_id in found]


def as_row(vector: Vector) -> Rows:
    """A vector in the form of the stored rows."""
    largest = float(numpy.abs(vector).max()) or 1.0
    made: Rows = numpy.rint(vector * (127 / largest)).astype(numpy.int8)
    return made


def wants_graph(folder: Path, state: VectorState, *, exact_rows: int) -> bool:
    """Whether a graph should be made: the rows are many, and no graph holds nearly all of them."""
    if state.rows <= exact_rows or importlib.util.find_spec("usearch") is None:
        return False
    graph, held = _graph_file(folder, state)
    return graph is None or state.rows - held > TAIL_SHARE * state.rows


def made_graph(
    folder: Path, state: VectorState, rows: Rows, lineage: Lineage, go_on: Callable[[], bool]
) -> Path | None:
    """Make the graph of all rows in an unfinished file beside them; None when ``go_on`` said no.

    One thread works on it: the others belong to the conversation.
    """
    graph = _empty_graph(state.dimensions)
    for start in range(0, state.rows, _ADDED_AT_ONCE):
        if not go_on():
            return None
        places = start + numpy.flatnonzero(lineage["passage"][start : start + _ADDED_AT_ONCE])
        if len(places):
            graph.add(places.astype(numpy.uint64), numpy.ascontiguousarray(rows[places]), threads=1)
    unfinished = folder / f"nearest-{state.generation}-{state.rows}.part"
    graph.save(str(unfinished))
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    return unfinished


def publish_graph(unfinished: Path) -> None:
    """Give a finished graph its name, which tells its size, and drop the one before; only inside `writing`."""
    named = unfinished.with_name(f"{unfinished.stem}-{unfinished.stat().st_size}.usearch")
    unfinished.replace(named)
    for path in unfinished.parent.glob("nearest-*.usearch"):
        if path != named:
            path.unlink(missing_ok=True)


def _loaded_graph(folder: Path, state: VectorState) -> tuple[Any, int]:
    path, held = _graph_file(folder, state)
    if path is None or importlib.util.find_spec("usearch") is None:
        return None, 0
    graph = _empty_graph(state.dimensions)
    try:
        graph.view(str(path))
    except Exception:
        _LOGGER.warning("The graph of neighbours in %s cannot be read; every vector is compared instead.", folder)
        path.unlink(missing_ok=True)
        return None, 0
    return graph, held


def _graph_file(folder: Path, state: VectorState) -> tuple[Path | None, int]:
    """The newest whole graph of this generation and how many rows it was made of."""
    held: dict[int, Path] = {}
    for path in folder.glob(f"nearest-{state.generation}-*.usearch"):
        _, _, rows, size = path.stem.split("-")
        if path.stat().st_size == int(size) and int(rows) <= state.rows:
            held[int(rows)] = path
    newest = max(held, default=0)
    return held.get(newest), newest


def _empty_graph(dimensions: int) -> Any:
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )


def _directions(rows: Rows) -> Vector:
    """Rows of length 1; a row of zeros stays one."""
    found = rows.astype(numpy.float32)
    length = numpy.linalg.norm(found, axis=1, keepdims=True)
    numpy.divide(found, length, out=found, where=length > 0)
    return found


__all__ = ["TAIL_SHARE", "Nearest", "made_graph", "publish_graph", "wants_graph"]
