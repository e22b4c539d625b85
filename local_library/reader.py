"""What a library answers without changing anything: list, show, read, search, export."""

import json
import shutil
from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path

from knowledge_provider import PERSONAL_OWNER

from .errors import DocumentNotFound, FolderNotUsable, encodable
from .quarantine import Quarantine
from .records import DocumentInfo, DocumentPage, FoundPassage, QuarantinedFile, ReadText
from .resolver import LocatorResolver
from .retriever import LibraryRetriever
from .semantic.second_opinion import SecondOpinion
from .status import DocumentStatus, StatusWatch
from .upkeep import Upkeep
from .workspace import Workspace

DEFAULT_READ_CHARACTERS = 8_000
_EXPORT_REMEDY = "Name a folder that is empty or does not exist"


class LibraryReader:
    """The half of a library that only reads. Thread-safe; works as well where the store cannot be written."""

    def __init__(self, workspace: Workspace, retriever: LibraryRetriever | SecondOpinion, upkeep: Upkeep) -> None:
        self._workspace = workspace
        self._retriever = retriever
        self._upkeep = upkeep
        self._quarantine = Quarantine(workspace)
        self._status = StatusWatch()

    def list(self, *, owner_id: str = PERSONAL_OWNER) -> tuple[DocumentInfo, ...]:
        """All documents of an owner, by title."""
        with self._workspace.reading() as catalog:
            return tuple(catalog.documents(owner_id))

    def paths(self, *, owner_id: str = PERSONAL_OWNER) -> dict[str, str]:
        """The id of each document by its path."""
        with self._workspace.reading() as catalog:
            return {path: document_id for document_id, _, path in catalog.names(owner_id)}

    def browse(
        self, words: str = "", *, owner_id: str = PERSONAL_OWNER, offset: int = 0, limit: int = 50
    ) -> DocumentPage:
        """At most ``limit`` documents by title, of those whose title or file name holds each of ``words``."""
        wanted = words.casefold().split()
        with self._workspace.reading() as catalog:
            names = catalog.names(owner_id)
            kept = [name[0] for name in names if _holds(f"{name[1]} {Path(name[2]).name}".casefold(), wanted)]
            found = catalog.some_documents(owner_id, kept[offset : offset + limit])
        documents = tuple(found[one] for one in kept[offset : offset + limit] if one in found)
        return DocumentPage(documents, len(kept), len(names))

    def status(self, document: DocumentInfo) -> DocumentStatus:
        """Whether a document is ready, and whether its file is still what was imported."""
        return self._status.status(document)

    def quarantined(self, *, owner_id: str = PERSONAL_OWNER) -> tuple[QuarantinedFile, ...]:
        """The files that could not be imported, each with its reason."""
        return self._quarantine.files(owner_id)

    def show(self, document: str, *, owner_id: str = PERSONAL_OWNER) -> DocumentInfo:
        """One document by its id or path."""
        document = encodable(document)
        with self._workspace.reading() as catalog:
            found = catalog.document(owner_id, document) or catalog.document_at(owner_id, document)
            found = found or catalog.document_at(owner_id, str(Path(document).expanduser().absolute()))
        if found is None:
            raise DocumentNotFound(document)
        return found

    def some(self, document_ids: Collection[str], *, owner_id: str = PERSONAL_OWNER) -> dict[str, DocumentInfo]:
        """The documents among ``document_ids`` that this owner has, by id."""
        with self._workspace.reading() as catalog:
            return catalog.some_documents(owner_id, document_ids)

    def size(self, *, owner_id: str = PERSONAL_OWNER) -> int:
        """How many documents an owner has."""
        with self._workspace.reading() as catalog:
            return catalog.counts(owner_id)[0]

    def read(
        self, locator: str, *, owner_id: str = PERSONAL_OWNER, limit_characters: int = DEFAULT_READ_CHARACTERS
    ) -> ReadText:
        """The text that a result's locator, a path or a document id names, at most ``limit_characters`` of it."""
        with self._workspace.reading() as catalog:
            return LocatorResolver(catalog).read(owner_id, encodable(locator), limit_characters=limit_characters)

    def search(
        self,
        query: str,
        *,
        owner_id: str = PERSONAL_OWNER,
        limit: int = 5,
        document_ids: Collection[str] | None = None,
        per_document: int = 3,
    ) -> tuple[FoundPassage, ...]:
        """At most ``limit`` passages that answer ``query``, best first; none where nothing is relevant."""
        try:
            return self._searched(query, owner_id, limit, document_ids, per_document)
        except (ValueError, OSError):  # the index, a cache, is damaged
            self._upkeep.mend()
            if self._workspace.was_cut_off() and not self._workspace.index.exists(owner_id):
                return ()  # the owner's first import is at work: nothing can be found yet
            return self._searched(query, owner_id, limit, document_ids, per_document)

    def export(self, folder: Path | str, *, owner_id: str = PERSONAL_OWNER) -> int:
        """Write the kept originals and a ``library.json`` into a new ``folder``; returns how many documents."""
        target = Path(folder).expanduser().absolute()
        try:
            if target.exists() and any(target.iterdir()):
                raise FolderNotUsable(folder, "is not empty", _EXPORT_REMEDY)
            target.mkdir(parents=True, exist_ok=True)
            return self._exported(target, owner_id)
        except OSError as error:
            problem = f"cannot take the export ({(error.strerror or 'unwritable').lower()})"
            raise FolderNotUsable(folder, problem, _EXPORT_REMEDY) from error

    def _exported(self, target: Path, owner_id: str) -> int:
        listed = []
        for document in self.list(owner_id=owner_id):
            name = f"{document.document_id}{Path(document.path).suffix}"
            kept = self._workspace.originals.path_of(owner_id, document.source_content_hash)
            shutil.copyfile(kept, target / name)
            listed.append({"file": name, **asdict(document)})
        manifest = json.dumps({"documents": listed}, ensure_ascii=False, indent=2)
        (target / "library.json").write_text(manifest, encoding="utf-8")
        return len(listed)

    def _searched(
        self, query: str, owner_id: str, limit: int, document_ids: Collection[str] | None, per_document: int
    ) -> tuple[FoundPassage, ...]:
        with self._workspace.reading() as catalog:
            if not self._workspace.index.exists(owner_id) and catalog.counts(owner_id)[1]:
                raise FileNotFoundError(self._workspace.index.path_of(owner_id))
            found = self._retriever.search(
                catalog, owner_id, query, limit, document_ids=document_ids, per_document=per_document
            )
            return tuple(found)


def _holds(text: str, words: Iterable[str]) -> bool:
    return all(word in text for word in words)


__all__ = ["DEFAULT_READ_CHARACTERS", "LibraryReader"]
