"""From a file to records and index: read, extract, cut, store in one unit of work, then tell the index."""

import errno
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .catalog import Catalog
from .errors import DocumentRejected, LibraryFull, encodable
from .index_writing import IndexEntry, IndexUnusable, IndexWriting
from .languages import detected_language
from .originals import content_hash
from .outline import headings_of, summary_of, title_of
from .ports import Chunker, Summarizer, TextExtractor
from .records import Chunk, ExtractedText, ImportOutcome, ImportStatus, Passage
from .tokens import analysis, normalized, terms
from .workspace import Workspace

_LANGUAGE_SEGMENTS = 40


@dataclass(frozen=True, slots=True)
class LibraryLimits:
    """The most an owner's library may hold, and a file may weigh."""

    documents: int = 100_000
    passages: int = 5_000_000
    file_bytes: int = 200_000_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file that was read and cut and waits to be stored."""

    path: str
    content: bytes
    source_content_hash: str
    media_type: str
    extracted: ExtractedText
    chunks: tuple[Chunk, ...]


class Importer:
    """Reads files in any thread; stores one document at a time, each wholly in the library or wholly out of it."""

    def __init__(
        self,
        workspace: Workspace,
        extractor: TextExtractor,
        chunker: Chunker,
        limits: LibraryLimits,
        summarizer: Summarizer | None,
    ) -> None:
        self._workspace = workspace
        self._extractor = extractor
        self._chunker = chunker
        self._limits = limits
        self._summarizer = summarizer

    def unchanged(self, catalog: Catalog, owner_id: str, path: str, content: bytes) -> ImportOutcome | None:
        """The outcome for a file whose current version has the same bytes and was cut by this chunker.

        Raises `DocumentRejected` for a path that no record can hold.
        """
        if path != encodable(path):
            raise DocumentRejected(path, "its name is not valid Unicode", "Rename it", reason_code="unsafe")
        known = catalog.document_at(owner_id, path)
        if known is None or known.chunker_id != self._chunker.chunker_id:
            return None
        if known.source_content_hash != content_hash(content):
            return None
        return ImportOutcome(path, ImportStatus.UNCHANGED, known.document_id, known.passages, known.warnings)

    def prepared(self, path: str, content: bytes) -> Prepared:
        """Read and cut a file. Needs no lock; raises `DocumentRejected`."""
        fingerprint = content_hash(content)
        extracted, media_type = self._extractor.extract(path, content, fingerprint)
        chunks = self._chunker.chunks(extracted)
        if not chunks:
            raise DocumentRejected(path, "holds no text", "Import a file with text in it", reason_code="no_text")
        return Prepared(path, content, fingerprint, media_type, extracted, chunks)

    def store(self, catalog: Catalog, owner_id: str, ready: Prepared) -> ImportOutcome:
        """Store a prepared file as its document's new version; only inside the workspace's `writing`."""
        known = catalog.document_at(owner_id, ready.path)
        replaced = known.passages if known is not None else 0
        self._check_room(catalog, owner_id, len(ready.chunks) - replaced, is_new=known is None)
        self._workspace.originals.keep(owner_id, ready.source_content_hash, ready.content)
        title = title_of(ready.extracted, ready.path)
        with self._workspace.unit_of_work(owner_id) as work:
            document_id, version_id = work.append_version(
                ready.path, ready.source_content_hash, len(ready.content), ready.media_type
            )
            work.replace_extraction(
                document_id,
                version_id,
                ready.extracted,
                ready.chunks,
                chunker_id=self._chunker.chunker_id,
                title=title,
                summary=summary_of(ready.extracted),
                headings=headings_of(ready.extracted, ready.path, title),
                language=_language(ready.extracted),
            )
            work.release(ready.path)
            if known is not None:
                work.plan_purge()
        self._summarize(catalog, owner_id, document_id, version_id, ready)
        status = ImportStatus.UPDATED if known else ImportStatus.ADDED
        return ImportOutcome(ready.path, status, document_id, len(ready.chunks), ready.extracted.warnings)

    def catch_up(self, catalog: Catalog) -> int:
        """Bring the index to the state of the records; returns how many documents it took over."""
        by_owner: dict[str, dict[str, int]] = {}
        for work_id, owner_id, document_id in catalog.index_work():
            by_owner.setdefault(owner_id, {})[document_id] = work_id
        for owner_id, documents in by_owner.items():
            try:
                self._take_over(catalog, owner_id, documents)
            except IndexUnusable:
                self.rebuild(catalog, owner_id)
                continue
            with self._workspace.unit_of_work(owner_id) as work:
                work.index_done(max(documents.values()))
        return sum(map(len, by_owner.values()))

    def _take_over(self, catalog: Catalog, owner_id: str, documents: Iterable[str]) -> None:
        if not self._workspace.index.exists(owner_id):
            raise IndexUnusable(errno.ENOENT, "the index is missing")  # it has to hold the other documents, too
        with self._workspace.index.writing(owner_id) as writing:
            for document_id in documents:
                writing.replace(document_id, entries(catalog, owner_id, document_id))

    def rebuild(self, catalog: Catalog, owner_id: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Make the owner's index anew from the records; searches use the old one until it is there."""
        document_ids = catalog.document_ids(owner_id)
        with self._workspace.index.rebuilding(owner_id) as writing:
            for done, document_id in enumerate(document_ids, start=1):
                _add(writing, catalog, owner_id, document_id)
                if progress is not None:
                    progress(done, len(document_ids))
        with self._workspace.unit_of_work(owner_id) as work:
            work.purge_done()

    def _check_room(self, catalog: Catalog, owner_id: str, more_passages: int, *, is_new: bool) -> None:
        documents, passages = catalog.counts(owner_id)
        if is_new and documents >= self._limits.documents:
            raise LibraryFull("documents", self._limits.documents)
        if passages + more_passages > self._limits.passages:
            raise LibraryFull("passages", self._limits.passages)

    def _summarize(self, catalog: Catalog, owner_id: str, document_id: str, version_id: str, ready: Prepared) -> None:
        document = catalog.document(owner_id, document_id) if self._summarizer is not None else None
        if self._summarizer is None or document is None:
            return
        summary = " ".join(self._summarizer.summarize(document, ready.chunks[0].text).split())
        with self._workspace.unit_of_work(owner_id) as work:
            work.keep_derived_summary(
                version_id, self._summarizer.summarizer_id, ready.source_content_hash, summary[:300]
            )


def entries(catalog: Catalog, owner_id: str, document_id: str) -> Iterator[IndexEntry]:
    """What the index must hold of a document, made of its records alone."""
    return map(_entry, catalog.passages_of(owner_id, document_id))


def _add(writing: IndexWriting, catalog: Catalog, owner_id: str, document_id: str) -> None:
    for entry in entries(catalog, owner_id, document_id):
        writing.add(entry)


def _entry(passage: Passage) -> IndexEntry:
    chunk = passage.chunk
    head = " ".join((passage.title, *chunk.heading_path, _name(passage.path)))
    return IndexEntry(
        passage_id=passage.passage_id,
        document_id=passage.document_id,
        chunk_id=chunk.chunk_id,
        source_content_hash=chunk.source_content_hash,
        extractor_id=chunk.extractor_id,
        chunker_id=chunk.chunker_id,
        text=analysis(chunk.text, passage.language),
        head=" ".join(term.token for term in terms(head, passage.language)),
    )


@lru_cache(maxsize=1_024)
def _name(path: str) -> str:
    return Path(path).stem


def _language(extracted: ExtractedText) -> str:
    opening = " ".join(segment.text for segment in extracted.segments[:_LANGUAGE_SEGMENTS])
    return detected_language(normalized(opening[:4_000]))


__all__ = ["Importer", "LibraryLimits", "Prepared", "entries"]
