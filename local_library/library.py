"""The documents of this machine: import, remove, verify, rebuild, reconcile, and all that a reader answers."""

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from knowledge_provider import PERSONAL_OWNER

from .chunking import HeadingChunker
from .errors import DocumentRejected, FolderNotUsable, LibraryStorageFailed, encodable
from .extraction.limited import LimitedExtractor, ReadingLimits
from .folders import FolderImport, Progress, content_of, files_below, ignored_by, usable_folder
from .importing import Importer, LibraryLimits
from .ports import Embedder, Summarizer, TextExtractor
from .reader import DEFAULT_READ_CHARACTERS, LibraryReader
from .reconcile import Drift, Evidence, FileProbe, SourceProbe, findings
from .records import ImportOutcome, ImportStatus, Problem, Removal
from .retriever import FLOOR, LibraryRetriever
from .semantic.half import SemanticHalf
from .upkeep import Upkeep
from .verification import problems
from .workspace import Workspace

_LOGGER = logging.getLogger(__name__)


def default_store() -> Path:
    """Where a library lives when nobody says: a folder of the user's data directory."""
    return Path(platformdirs.user_data_dir("earpiece")) / "library"


class DomainLibrary(LibraryReader):
    """A library in a folder it owns. Synchronous and thread-safe; files it imports are read and never touched.

    Every method works for one owner. Raises `LibraryError` and its kinds, each with a sentence for people.
    ``floor`` is the least relevance of an answer; ``summarizer`` is a host's model, asked once for each version;
    ``extractor`` replaces the shipped one, which reads files in limited child processes.
    ``keep_alike`` also answers with passages that say nearly the same as another, of which one is enough for people.
    ``embedder`` finds passages by meaning where words find nothing, from ``similarity_floor`` on; see `semantic`.
    """

    def __init__(
        self,
        store: Path | str,
        *,
        limits: LibraryLimits | None = None,
        reading_limits: ReadingLimits | None = None,
        extractor: TextExtractor | None = None,
        summarizer: Summarizer | None = None,
        floor: float = FLOOR,
        keep_alike: bool = False,
        embedder: Embedder | None = None,
        similarity_floor: float | None = None,
        writer_wait_seconds: float = 10.0,
    ) -> None:
        self.store = Path(store).expanduser().absolute()
        self.documents_folder: Path | None = None
        self._limits = limits or LibraryLimits()
        workspace = Workspace(self.store, writer_wait_seconds=writer_wait_seconds)
        self._extractor = extractor or LimitedExtractor(reading_limits)
        self._importer = Importer(workspace, self._extractor, HeadingChunker(), self._limits, summarizer)
        self.semantic = SemanticHalf(workspace, embedder, floor=similarity_floor)
        lexical = LibraryRetriever(workspace.index, floor=floor, keep_alike=keep_alike)
        retriever = self.semantic.retriever(lexical, keep_alike=keep_alike)
        super().__init__(workspace, retriever, Upkeep(workspace, self._importer))
        self._mend()
        self.semantic.wake_all()

    @classmethod
    def for_folder(
        cls, documents: Path | str, *, store: Path | str | None = None, embedder: Embedder | None = None
    ) -> Self:
        """A library that mirrors a folder of documents. Its own files go to the user's cache folder."""
        folder = usable_folder(documents)
        library = cls(store if store is not None else _store_for(folder), embedder=embedder)
        library.documents_folder = folder
        try:
            library.refresh()
        except BaseException:
            library.close()
            raise
        return library

    def refresh(self, *, owner_id: str = PERSONAL_OWNER, progress: Progress | None = None) -> tuple[ImportOutcome, ...]:
        """Import what is new or changed in the mirrored folder and remove what is gone from it."""
        folder = usable_folder(self.documents_folder or "")
        outcomes = self.import_folder(folder, owner_id=owner_id, progress=progress)
        present = {outcome.path for outcome in outcomes}
        known = self.paths(owner_id=owner_id)
        removed = [path for path in known if Path(path).is_relative_to(folder) and path not in present]
        self.remove_many([known[path] for path in removed], owner_id=owner_id)
        refused = (file.path for file in self.quarantined(owner_id=owner_id))
        gone = [path for path in refused if Path(path).is_relative_to(folder) and path not in present]
        if gone:
            self._quarantine.release(owner_id, gone)
        return outcomes

    def import_file(self, path: Path | str, *, owner_id: str = PERSONAL_OWNER) -> ImportOutcome:
        """Import one file, or its new version. Raises `DocumentRejected` and leaves the library as it was."""
        source = Path(path).expanduser().absolute()
        return self.import_bytes(str(source), content_of(source, self._limits.file_bytes), owner_id=owner_id)

    def import_bytes(self, path: str, content: bytes, *, owner_id: str = PERSONAL_OWNER) -> ImportOutcome:
        """Import ``content`` as the document at ``path``, as an upload arrives."""
        with self._workspace.reading() as catalog:
            known = self._importer.unchanged(catalog, owner_id, path, content)
        if known is not None:
            return known
        if len(content) > self._limits.file_bytes:
            raise DocumentRejected(path, "is too large", "Split it", reason_code="too_large")
        ready = self._importer.prepared(path, content)
        with self._workspace.writing() as catalog:
            outcome = self._importer.store(catalog, owner_id, ready)
            self._importer.catch_up(catalog)
        self.semantic.wake(owner_id)
        return outcome

    def import_folder(
        self,
        folder: Path | str,
        *,
        owner_id: str = PERSONAL_OWNER,
        ignore: Collection[str] = (),
        progress: Progress | None = None,
    ) -> tuple[ImportOutcome, ...]:
        """Import every readable file below ``folder`` that no ``ignore`` pattern matches.

        A rejected file is an outcome with its reason and stands in `quarantined`.
        """
        root = usable_folder(folder)
        if root.is_relative_to(self.store):
            raise FolderNotUsable(folder, "belongs to the library itself")
        ignored = ignored_by(root, tuple(ignore))
        paths = files_below(root, lambda path: ignored(path) or path.is_relative_to(self.store))
        return self.import_files(paths, owner_id=owner_id, progress=progress)

    def import_files(
        self, paths: Iterable[Path], *, owner_id: str = PERSONAL_OWNER, progress: Progress | None = None
    ) -> tuple[ImportOutcome, ...]:
        """Import these files as `import_folder` does: a rejected one is an outcome, not an end."""
        most = self._limits.file_bytes
        with self._workspace.writing() as catalog:
            run = FolderImport(self._workspace, self._importer, catalog, owner_id)
            outcomes = run.run(((str(path), partial(content_of, path, most)) for path in paths), progress)
            self._quarantine.settle(catalog, owner_id, outcomes)
        self.semantic.wake(owner_id)
        self._extractor.close()
        return outcomes

    def import_many(
        self,
        contents: Iterable[tuple[str, bytes]],
        *,
        owner_id: str = PERSONAL_OWNER,
        progress: Progress | None = None,
    ) -> tuple[ImportOutcome, ...]:
        """Import (path, bytes) pairs as `import_folder` does files: one visible change of the index for many."""
        with self._workspace.writing() as catalog:
            run = FolderImport(self._workspace, self._importer, catalog, owner_id)
            outcomes = run.run(((path, partial(bytes, content)) for path, content in contents), progress)
        self.semantic.wake(owner_id)
        self._extractor.close()
        return outcomes

    def reimport(self, document: str, *, owner_id: str = PERSONAL_OWNER) -> ImportOutcome:
        """Import a document's file again from where it was."""
        return self.import_file(self.show(document, owner_id=owner_id).path, owner_id=owner_id)

    def retry(self, file: str, *, owner_id: str = PERSONAL_OWNER) -> ImportOutcome:
        """Import a quarantined file, by id or path. Raises `DocumentRejected`: then it stays, with the new reason."""
        path = self._quarantine.file(owner_id, encodable(file)).path
        try:
            outcome = self.import_file(path, owner_id=owner_id)
        except DocumentRejected as error:
            self._quarantine.keep(owner_id, path, error)
            raise
        self._quarantine.release(owner_id, [path])
        return outcome

    def dismiss(self, file: str, *, owner_id: str = PERSONAL_OWNER) -> None:
        """Forget a quarantined file, by id or path. The file stays, and an import that meets it tries it again."""
        self._quarantine.release(owner_id, [self._quarantine.file(owner_id, encodable(file)).path])

    def remove(self, document: str, *, owner_id: str = PERSONAL_OWNER) -> Removal:
        """Erase a document with its versions, text and index entries. The user's own file stays."""
        return self.remove_many([document], owner_id=owner_id)[0]

    def remove_many(self, documents: Iterable[str], *, owner_id: str = PERSONAL_OWNER) -> tuple[Removal, ...]:
        """Erase documents as `remove` does, all of them or, where one does not exist, none: the index follows once."""
        found = {one.document_id: one for one in (self.show(document, owner_id=owner_id) for document in documents)}
        if not found:
            return ()
        with self._workspace.writing() as catalog:
            erased = self._upkeep.erase_documents(catalog, owner_id, found)
        return tuple(Removal(one, erased) for one in found.values())

    def erase_owner(self, owner_id: str) -> None:
        """Erase everything of an owner from every file of the library."""
        with self._workspace.writing() as catalog:
            self._upkeep.erase_owner(catalog, owner_id)

    def verify(self, *, owner_id: str = PERSONAL_OWNER) -> tuple[Problem, ...]:
        """What is wrong with an owner's documents; empty when records, originals and index belong together."""
        with self._workspace.at_rest() as catalog:
            return tuple(problems(self._workspace, catalog, owner_id))

    def rebuild_index(
        self, *, owner_id: str = PERSONAL_OWNER, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Make an owner's index anew from the records; answers stay the same."""
        with self._workspace.writing() as catalog:
            self._importer.rebuild(catalog, owner_id, progress)
        self.semantic.rebuild(owner_id, progress)

    def compact(self, *, progress: Callable[[int, int], None] | None = None) -> bool:
        """Finish every erasure and give space back to the disk; false while another process reads old records."""
        with self._workspace.writing() as catalog:
            return self._upkeep.compact(catalog, progress)

    def reconcile(
        self,
        *,
        owner_id: str = PERSONAL_OWNER,
        probe: SourceProbe | None = None,
        delete_stale: bool = False,
        reimport: bool = False,
    ) -> tuple[Evidence, ...]:
        """How the sources differ from what is stored. Removes or imports only when told to."""
        with self._workspace.reading() as catalog:
            found = tuple(findings(catalog, self._workspace.originals, owner_id, probe or FileProbe()))
        return tuple(self._acted(one, owner_id, delete_stale=delete_stale, reimport=reimport) for one in found)

    def close(self) -> None:
        """Close records and readers. Closing twice does nothing more."""
        self.semantic.close()
        self._extractor.close()
        self._workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _mend(self) -> None:
        """Mend what a killed writer left; where nothing can be written, all that needs no mending works."""
        try:
            self._upkeep.mend()
        except LibraryStorageFailed as error:
            _LOGGER.warning("The library is used as it stands: %s", error)
        except BaseException:
            self.close()
            raise

    def _acted(self, evidence: Evidence, owner_id: str, *, delete_stale: bool, reimport: bool) -> Evidence:
        if evidence.drift is Drift.MISSING and delete_stale:
            self.remove(evidence.document_id, owner_id=owner_id)
            return replace(evidence, action="removed")
        if evidence.drift is Drift.CHANGED and reimport:
            try:
                outcome = self.reimport(evidence.document_id, owner_id=owner_id)
            except DocumentRejected as error:
                return replace(evidence, action=f"rejected: {error.reason_code}")
            return replace(evidence, action=ImportStatus(outcome.status).value)
        return evidence


def _store_for(folder: Path) -> Path:
    tag = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("earpiece")) / "libraries" / tag


__all__ = ["DEFAULT_READ_CHARACTERS", "DomainLibrary", "default_store"]
