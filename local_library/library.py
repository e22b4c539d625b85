"""The documents of this machine: import, list, show, remove, read and search them."""

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from knowledge_provider import PERSONAL_OWNER

from .chunking import HeadingChunker
from .errors import DocumentNotFound, DocumentRejected, FolderNotUsable
from .extraction.reading import DirectExtractor, is_readable
from .importing import LARGEST_FILE_BYTES, Importer, files_below
from .records import DocumentInfo, FoundPassage, ImportOutcome, ImportStatus
from .retriever import LexicalRetriever
from .workspace import Workspace

Progress = Callable[[ImportOutcome], None]


class DomainLibrary:
    """A library in a folder it owns. Synchronous and thread-safe; files it imports are read and never touched.

    Every method works for one owner. Raises `LibraryError` and its kinds, each with a sentence for people.
    """

    def __init__(self, store: Path | str, *, writer_wait_seconds: float = 10.0) -> None:
        self.store = Path(store).expanduser().absolute()
        self.documents_folder: Path | None = None
        self._workspace = Workspace(self.store, writer_wait_seconds=writer_wait_seconds)
        self._importer = Importer(self._workspace, DirectExtractor(), HeadingChunker())
        with self._workspace.reading() as catalog:
            behind = bool(catalog.index_work())
        if behind:
            self._finish_index_work()

    @classmethod
    def for_folder(cls, documents: Path | str, *, store: Path | str | None = None) -> Self:
        """A library that mirrors a folder of documents. Its own files go to the user's cache folder."""
        folder = _usable_folder(documents)
        library = cls(store if store is not None else _store_for(folder))
        library.documents_folder = folder
        library.refresh()
        return library

    def refresh(self, *, owner_id: str = PERSONAL_OWNER, progress: Progress | None = None) -> tuple[ImportOutcome, ...]:
        """Import what is new or changed in the mirrored folder and remove what is gone from it."""
        folder = _usable_folder(self.documents_folder or "")
        outcomes = self.import_folder(folder, owner_id=owner_id, progress=progress)
        present = {outcome.path for outcome in outcomes if outcome.status is not ImportStatus.REJECTED}
        for document in self.list(owner_id=owner_id):
            if Path(document.path).is_relative_to(folder) and document.path not in present:
                self.remove(document.document_id, owner_id=owner_id)
        return outcomes

    def import_file(self, path: Path | str, *, owner_id: str = PERSONAL_OWNER) -> ImportOutcome:
        """Import one file, or its new version. Raises `DocumentRejected` and leaves the library as it was."""
        source = Path(path).expanduser().absolute()
        content = _content_of(source)
        with self._workspace.writing() as catalog:
            outcome = self._importer.store(catalog, owner_id, str(source), content)
            self._importer.catch_up(catalog)
        return outcome

    def import_folder(
        self, folder: Path | str, *, owner_id: str = PERSONAL_OWNER, progress: Progress | None = None
    ) -> tuple[ImportOutcome, ...]:
        """Import every readable file below ``folder``; a rejected file is an outcome, not an end."""
        outcomes = []
        with self._workspace.writing() as catalog:
            for path in files_below(_usable_folder(folder), is_readable):
                try:
                    outcome = self._importer.store(catalog, owner_id, str(path), _content_of(path))
                except DocumentRejected as error:
                    outcome = self._quarantined(owner_id, str(path), error)
                outcomes.append(outcome)
                if progress is not None:
                    progress(outcome)
            self._importer.catch_up(catalog)
        return tuple(outcomes)

    def list(self, *, owner_id: str = PERSONAL_OWNER) -> tuple[DocumentInfo, ...]:
        """All documents of an owner, by title."""
        with self._workspace.reading() as catalog:
            return tuple(catalog.documents(owner_id))

    def show(self, document: str, *, owner_id: str = PERSONAL_OWNER) -> DocumentInfo:
        """One document by its id or path."""
        with self._workspace.reading() as catalog:
            found = catalog.document(owner_id, document) or catalog.document_at(
                owner_id, str(Path(document).expanduser().absolute())
            )
        if found is None:
            raise DocumentNotFound(document)
        return found

    def size(self, *, owner_id: str = PERSONAL_OWNER) -> int:
        """How many documents an owner has."""
        with self._workspace.reading() as catalog:
            return catalog.counts(owner_id)[0]

    def some(self, document_ids: Collection[str], *, owner_id: str = PERSONAL_OWNER) -> dict[str, DocumentInfo]:
        """The documents among ``document_ids`` that this owner has, by id."""
        with self._workspace.reading() as catalog:
            return catalog.some_documents(owner_id, document_ids)

    def remove(self, document: str, *, owner_id: str = PERSONAL_OWNER) -> DocumentInfo:
        """Erase a document with its versions, text and index entries. The user's own file stays."""
        found = self.show(document, owner_id=owner_id)
        with self._workspace.writing() as catalog:
            hashes = catalog.hashes(owner_id, found.document_id)
            with self._workspace.unit_of_work(owner_id) as work:
                work.erase_document(found.document_id)
            for source_content_hash in hashes:
                if not catalog.uses_hash(owner_id, source_content_hash):
                    self._workspace.originals.erase(owner_id, source_content_hash)
            self._importer.catch_up(catalog)
            self._workspace.settle()
        return found

    def search(
        self,
        query: str,
        *,
        owner_id: str = PERSONAL_OWNER,
        limit: int = 5,
        document_ids: Collection[str] | None = None,
    ) -> tuple[FoundPassage, ...]:
        """At most ``limit`` passages that answer ``query``, best first; none where nothing is relevant."""
        with self._workspace.reading() as catalog:
            retriever = LexicalRetriever(catalog, self._workspace.index)
            return tuple(retriever.search(owner_id, query, limit, document_ids=document_ids))

    def close(self) -> None:
        """Close the records. Closing twice does nothing more."""
        self._workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _finish_index_work(self) -> None:
        with self._workspace.writing() as catalog:
            self._importer.catch_up(catalog)

    def _quarantined(self, owner_id: str, path: str, error: DocumentRejected) -> ImportOutcome:
        with self._workspace.unit_of_work(owner_id) as work:
            work.quarantine(path, error.reason_code, str(error))
        return ImportOutcome(path, ImportStatus.REJECTED, reason=str(error), reason_code=error.reason_code)


def _usable_folder(folder: Path | str) -> Path:
    path = Path(folder).expanduser().absolute()
    if not path.exists():
        raise FolderNotUsable(folder, "there is no such folder")
    if not path.is_dir():
        raise FolderNotUsable(folder, "is a file, not a folder")
    return path


def _content_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            limit = f"Split it; the limit is {LARGEST_FILE_BYTES // 1_000_000} MB"
            raise DocumentRejected(path, "is too large", limit, reason_code="too_large")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DocumentRejected(path, "does not exist", "Check the path", reason_code="missing") from error
    except OSError as error:
        problem = (error.strerror or "unreadable").lower()
        raise DocumentRejected(
            path, f"cannot be read ({problem})", "Check its permissions", reason_code="unreadable"
        ) from error


def _store_for(folder: Path) -> Path:
    tag = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("earpiece")) / "libraries" / tag


__all__ = ["DomainLibrary", "Progress"]
