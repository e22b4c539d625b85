"""The steps of the library, as interfaces, each with a shipped implementation."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from .index_writing import IndexWriting
from .lexical_index import IndexView
from .records import Chunk, DocumentInfo, ExtractedText, FoundPassage
from .semantic.entries import VectorEntry, VectorHit, VectorSpace

if TYPE_CHECKING:
    import numpy
    import numpy.typing


class TextExtractor(Protocol):
    """Bytes to text with headings. Shipped: `extraction.limited.LimitedExtractor`."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> tuple[ExtractedText, str]:
        """The text and its media type. Raises `DocumentRejected` for a file it cannot read."""
        ...

    def close(self) -> None:
        """Give back what reading holds; reading again is allowed."""
        ...


class Chunker(Protocol):
    """Text to passages with derived ids. Shipped: `chunking.HeadingChunker`."""

    @property
    def chunker_id(self) -> str: ...

    def chunks(self, extracted: ExtractedText) -> tuple[Chunk, ...]: ...


class Embedder(Protocol):
    """Texts to vectors. The same id, model, dimensions and text must give byte-identical vectors. Thread-safe.

    Shipped: `semantic.sentence_encoder.OfflineEmbedder`, and for tests `semantic.deterministic.DeterministicEmbedder`.
    May have a ``similarity_floor``, the least cosine of an answer (see `semantic.calibration.calibrated_floor`).
    """

    @property
    def embedder_id(self) -> str:
        """Name of the embedder and of everything that its vectors depend on; another id means embedding again."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> "numpy.typing.NDArray[numpy.float32]":
        """One row of ``dimensions`` numbers for each text, of any length; ``query`` says that they are questions."""
        ...


class LexicalIndexPort(Protocol):
    """Tokens to passages. A cache: deletable at any time. Shipped: `lexical_index.LexicalIndex`."""

    def writing(self, owner_id: str) -> AbstractContextManager[IndexWriting]: ...

    def view(self, owner_id: str) -> IndexView | None:
        """The owner's index as it is now, to be asked for frequencies and passages."""
        ...

    def erase(self, owner_id: str) -> None: ...


class VectorStore(Protocol):
    """Vectors to passages. A cache like the lexical index. Shipped: `semantic.vector_store.OwnerVectorStore`."""

    def add(
        self,
        owner_id: str,
        space: VectorSpace,
        entries: Sequence[VectorEntry],
        vectors: "numpy.typing.NDArray[numpy.float32]",
    ) -> None: ...

    def search(
        self,
        owner_id: str,
        space: VectorSpace,
        vector: "numpy.typing.NDArray[numpy.float32]",
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
    ) -> list[VectorHit]:
        """Passages and their cosine, higher for better, best first; none where the vectors are of another space."""
        ...

    def forget(self, owner_id: str, document_ids: Collection[str]) -> None: ...

    def erase(self, owner_id: str) -> None: ...


class Retriever(Protocol):
    """A question to passages that answer it. Shipped: `retriever.LibraryRetriever`."""

    def search(
        self, owner_id: str, query: str, limit: int, *, document_ids: Collection[str] | None = None
    ) -> list[FoundPassage]: ...


class ContentResolver(Protocol):
    """A locator to the text it names, for the owner it belongs to. Shipped: `resolver.LocatorResolver`."""

    def read(self, owner_id: str, locator: str, *, limit_characters: int) -> str: ...


class Summarizer(Protocol):
    """A host's model that sums up a document in one line. What it says is kept apart, as derived."""

    @property
    def summarizer_id(self) -> str: ...

    def summarize(self, document: DocumentInfo, opening: str) -> str: ...


__all__ = [
    "Chunker",
    "ContentResolver",
    "Embedder",
    "LexicalIndexPort",
    "Retriever",
    "Summarizer",
    "TextExtractor",
    "VectorStore",
]
