"""From a file to records and index: read, extract, cut, store in one unit of work, then tell the index."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .catalog import Catalog
from .chunking import HeadingChunker
from .errors import DocumentRejected
from .extraction.reading import TextExtractor, media_type_of
from .languages import detected_language
from .lexical_index import IndexEntry
from .originals import content_hash
from .outline import headings_of, summary_of, title_of
from .records import ExtractedText, ImportOutcome, ImportStatus, Passage
from .tokens import analysis, normalized, terms
from .workspace import Workspace

LARGEST_FILE_BYTES = 200_000_000


class Importer:
    """Writes one document at a time; each is wholly in the library or wholly out of it."""

    def __init__(self, workspace: Workspace, extractor: TextExtractor, chunker: HeadingChunker) -> None:
        self._workspace = workspace
        self._extractor = extractor
        self._chunker = chunker

    def store(self, catalog: Catalog, owner_id: str, path: str, content: bytes) -> ImportOutcome:
        """Store ``content`` as the document at ``path``; only inside the workspace's `writing`."""
        fingerprint = content_hash(content)
        known = catalog.document_at(owner_id, path)
        if known and (known.source_content_hash, known.chunker_id) == (fingerprint, self._chunker.chunker_id):
            return ImportOutcome(path, ImportStatus.UNCHANGED, known.document_id, known.passages, known.warnings)
        extracted = self._extractor.extract(path, content, fingerprint)
        chunks = self._chunker.chunks(extracted)
        if not chunks:
            raise DocumentRejected(path, "holds no text", "Import a file with text in it", reason_code="no_text")
        self._workspace.originals.keep(owner_id, fingerprint, content)
        title = title_of(extracted, path)
        with self._workspace.unit_of_work(owner_id) as work:
            document_id, version_id = work.append_version(path, fingerprint, len(content), media_type_of(path))
            work.replace_extraction(
                document_id,
                version_id,
                extracted,
                chunks,
                chunker_id=self._chunker.chunker_id,
                title=title,
                summary=summary_of(extracted),
                headings=headings_of(extracted, path, title),
                language=_language(extracted),
            )
            work.release(path)
        status = ImportStatus.UPDATED if known else ImportStatus.ADDED
        return ImportOutcome(path, status, document_id, len(chunks), extracted.warnings)

    def catch_up(self, catalog: Catalog) -> int:
        """Bring the index to the state of the records; returns how many documents it took over."""
        by_owner: dict[str, dict[str, int]] = {}
        for work_id, owner_id, document_id in catalog.index_work():
            by_owner.setdefault(owner_id, {})[document_id] = work_id
        for owner_id, documents in by_owner.items():
            with self._workspace.index.writing(owner_id) as writing:
                for document_id in documents:
                    writing.replace(document_id, entries(catalog, owner_id, document_id))
            with self._workspace.unit_of_work(owner_id) as work:
                work.index_done(max(documents.values()))
        return sum(map(len, by_owner.values()))


def entries(catalog: Catalog, owner_id: str, document_id: str) -> Iterator[IndexEntry]:
    """What the index must hold of a document, made of its records alone."""
    language = ""
    for passage in catalog.passages_of(owner_id, document_id):
        language = language or catalog.language_of(owner_id, passage.version_id)
        yield _entry(passage, language)


def _entry(passage: Passage, language: str) -> IndexEntry:
    chunk = passage.chunk
    head = " ".join((passage.title, *chunk.heading_path, Path(passage.path).stem))
    return IndexEntry(
        passage_id=passage.passage_id,
        document_id=passage.document_id,
        chunk_id=chunk.chunk_id,
        source_content_hash=chunk.source_content_hash,
        extractor_id=chunk.extractor_id,
        chunker_id=chunk.chunker_id,
        text=analysis(chunk.text, language),
        head=[term.token for term in terms(head, language)],
    )


def _language(extracted: ExtractedText) -> str:
    return detected_language(normalized(" ".join(segment.text for segment in extracted.segments[:40])))


def files_below(folder: Path, accepts: Callable[[Path], bool]) -> Iterable[Path]:
    """The files to import below ``folder`` in a stable order; hidden files and folders are left out."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and accepts(path):
            yield path


__all__ = ["LARGEST_FILE_BYTES", "Importer", "entries", "files_below"]
