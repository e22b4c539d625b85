"""The vector store: one folder per owner, as the lexical index has it. A cache; deleting it costs time alone.

The owner is part of every key, no search can reach another owner's vectors, and an owner is erased by removing a
folder. Writing needs the workspace's `writing`; searching needs nothing.
"""

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..originals import owner_tag
from .entries import VectorEntry, VectorHit, VectorSpace

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from .nearest import Nearest
    from .vector_files import Lineage, Rows, VectorFiles

EXACT_ROWS = 20_000
"""Up to here every row is compared; measured in docs/benchmarks-library.md."""

_KEPT_BYTES = 256_000_000  # of owners searched lately; the next one opens its files again
_DEAD_SHARE = 0.25


class OwnerVectorStore:
    """Adds, finds and forgets vectors by owner. numpy is loaded when the first vector is there.

    Above ``exact_rows`` an owner's vectors are searched by a graph of neighbours, where usearch is installed. The
    vectors of owners searched lately stay in memory up to ``kept_bytes``.
    """

    def __init__(self, folder: Path, *, exact_rows: int = EXACT_ROWS, kept_bytes: int = _KEPT_BYTES) -> None:
        self._folder = folder
        self._exact_rows = exact_rows
        self._kept_bytes = kept_bytes
        self._opened: OrderedDict[str, tuple[object, Nearest]] = OrderedDict()
        self._lock = threading.Lock()

    def path_of(self, owner_id: str) -> Path:
        return self._folder / owner_tag(owner_id)

    def exists(self, owner_id: str) -> bool:
        return self.path_of(owner_id).exists()

    def add(
        self,
        owner_id: str,
        space: VectorSpace,
        entries: Sequence[VectorEntry],
        vectors: "numpy.typing.NDArray[numpy.float32]",
    ) -> None:
        """Add one row of ``vectors`` for each entry; vectors of another space that were there go first.

        A passage that has its vector keeps it: adding twice changes nothing.
        """
        from .vector_files import as_rows

        held = self.held(owner_id, space)
        places = [place for place, entry in enumerate(entries) if entry.passage_id not in held]
        if places:
            self._files(owner_id).append(space, [entries[place] for place in places], as_rows(vectors[places]))

    def search(
        self,
        owner_id: str,
        space: VectorSpace,
        vector: "numpy.typing.NDArray[numpy.float32]",
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
    ) -> list[VectorHit]:
        """The ``limit`` nearest passages of this owner, best first; none where the vectors are of another space.

        Raises `OSError` when the files are damaged.
        """
        nearest = self._nearest(owner_id)
        if nearest is None or nearest.state.space != space:
            return []
        return nearest.search(vector, limit, document_ids=document_ids)

    def held(self, owner_id: str, space: VectorSpace | None = None, *, document_id: str | None = None) -> set[int]:
        """The passages, of a document or all, that have a vector of ``space`` or of any.

        Raises `OSError` when the files are damaged.
        """
        files = self._files(owner_id) if self.exists(owner_id) else None
        state = files.state() if files else None
        if files is None or state is None or space not in (None, state.space):
            return set()
        lineage = files.mapped(state)[1]
        wanted = lineage["passage"] != 0
        if document_id is not None:
            wanted &= lineage["document"] == document_id.encode()
        return set(lineage["passage"][wanted].tolist())

    def lineage(self, owner_id: str) -> list[dict[str, str]]:
        """What is kept beside each living vector, in the order of the rows."""
        files = self._files(owner_id) if self.exists(owner_id) else None
        state = files.state() if files else None
        if files is None or state is None:
            return []
        common = {"embedder_id": state.embedder_id, "model": state.model, "dimensions": str(state.dimensions)}
        return [
            {
                "key": f"{owner_tag(owner_id)}||{row['chunk'].decode()}",
                "passage_id": str(row["passage"]),
                "document_id": row["document"].decode(),
                "source_content_hash": row["hash"].decode(),
                **common,
            }
            for row in files.mapped(state)[1]
            if row["passage"]
        ]

    def damaged(self, owner_id: str) -> int:
        """How many vectors are not those that were written. Raises `OSError` when the files are damaged as a whole."""
        files = self._files(owner_id) if self.exists(owner_id) else None
        state = files.state() if files else None
        if files is None or state is None:
            return 0
        return int(_changed(*files.mapped(state)).sum())

    def forget(self, owner_id: str, document_ids: Collection[str]) -> None:
        """Overwrite the vectors of the documents' passages, of their former versions too."""
        self._overwrite(owner_id, documents=document_ids)

    def forget_passages(self, owner_id: str, passage_ids: Collection[int]) -> None:
        """Overwrite the vectors of some passages."""
        self._overwrite(owner_id, passages=passage_ids)

    def erase(self, owner_id: str) -> None:
        """Remove all vectors of an owner from the disk."""
        with self._lock:
            self._opened.pop(owner_id, None)
        shutil.rmtree(self.path_of(owner_id), ignore_errors=True)

    def compact(self, owner_id: str, *, only_if_worth: bool = False) -> None:
        """Write the living rows anew, and drop the graph, which may hold what was forgotten."""
        if not self.exists(owner_id):
            return
        files = self._files(owner_id)
        try:
            state = files.state()
            if state is not None and (not only_if_worth or state.dead > _DEAD_SHARE * state.rows):
                files.compact()
        except OSError:
            self.erase(owner_id)

    def graph_made(self, owner_id: str, go_on: Callable[[], bool]) -> Path | None:
        """The unfinished file of a new graph, where one is wanted and ``go_on`` let it be finished. Needs no lock."""
        from .nearest import made_graph, wants_graph

        files = self._files(owner_id)
        state = files.state()
        if state is None or not wants_graph(files.folder, state, exact_rows=self._exact_rows):
            return None
        return made_graph(files.folder, state, *files.mapped(state), go_on)

    def publish_graph(self, owner_id: str, unfinished: Path) -> None:
        """Take a graph that is done, unless the rows it was made of were compacted or erased meanwhile."""
        from .nearest import publish_graph

        state = self._files(owner_id).state()
        generation = unfinished.stem.split("-")[1]
        if state is not None and state.generation == generation and unfinished.exists():
            publish_graph(unfinished)
        else:
            unfinished.unlink(missing_ok=True)

    def drop_strays(self, documents: Mapping[str, Iterable[str]]) -> None:
        """Remove vectors of owners and documents that ``documents`` (owner to document ids) does not name."""
        known = {owner_tag(owner_id): owner_id for owner_id in documents}
        for path in self._folder.glob("*"):
            if path.name not in known:
                shutil.rmtree(path, ignore_errors=True)
                continue
            self._drop_strays_of(known[path.name], set(documents[known[path.name]]))

    def _drop_strays_of(self, owner_id: str, document_ids: set[str]) -> None:
        """Finish what was cut off: files half written, documents half forgotten, rows half overwritten."""
        import numpy

        files = self._files(owner_id)
        try:
            files.drop_unfinished()
            state = files.state()
            if state is None:
                return
            rows, lineage = files.mapped(state)
            known = numpy.array([one.encode() for one in document_ids], lineage["document"].dtype)
            gone = ~numpy.isin(lineage["document"], known) | _changed(rows, lineage)
            files.overwrite(numpy.flatnonzero(gone & (lineage["passage"] != 0)))
        except OSError:
            self.erase(owner_id)

    def _overwrite(self, owner_id: str, *, documents: Collection[str] = (), passages: Collection[int] = ()) -> None:
        if not (documents or passages) or not self.exists(owner_id):
            return
        import numpy

        files = self._files(owner_id)
        try:
            state = files.state()
            if state is None:
                return
            lineage = files.mapped(state)[1]
            wanted = numpy.isin(lineage["document"], numpy.array([one.encode() for one in documents], "S20"))
            wanted |= numpy.isin(lineage["passage"], numpy.array(list(passages), numpy.int64))
            files.overwrite(numpy.flatnonzero(wanted & (lineage["passage"] != 0)))
        except OSError:  # damaged: what cannot be overwritten goes as a whole
            self.erase(owner_id)

    def _nearest(self, owner_id: str) -> "Nearest | None":
        marker = self.path_of(owner_id)
        try:
            key = tuple((one.st_ino, one.st_mtime_ns) for one in (marker.stat(), (marker / "state.json").stat()))
        except OSError:
            return None
        with self._lock:
            known = self._opened.get(owner_id)
            if known is not None and known[0] == key:
                self._opened.move_to_end(owner_id)
                return known[1]
        return self._open(owner_id, key)

    def _open(self, owner_id: str, key: object) -> "Nearest | None":
        from .nearest import Nearest

        files = self._files(owner_id)
        state = files.state()
        if state is None:
            return None
        nearest = Nearest(files.folder, state, *files.mapped(state), exact_rows=self._exact_rows)
        with self._lock:
            self._opened[owner_id] = (key, nearest)
            self._opened.move_to_end(owner_id)
            kept = sum(one.memory_bytes for _, one in self._opened.values())
            while len(self._opened) > 1 and kept > self._kept_bytes:
                kept -= self._opened.popitem(last=False)[1][1].memory_bytes
        return nearest

    def _files(self, owner_id: str) -> "VectorFiles":
        from .vector_files import VectorFiles

        return VectorFiles(self.path_of(owner_id))


def _changed(rows: "Rows", lineage: "Lineage") -> "numpy.typing.NDArray[numpy.bool_]":
    """Which living rows are not those that were written."""
    from .vector_files import checks

    found: numpy.typing.NDArray[numpy.bool_] = (checks(rows) != lineage["check"]) & (lineage["passage"] != 0)
    return found


__all__ = ["EXACT_ROWS", "OwnerVectorStore"]
