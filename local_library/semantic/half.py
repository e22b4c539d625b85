"""What a library does with an embedder, in one place: `DomainLibrary.semantic`."""

from collections.abc import Sequence

from knowledge_provider import PERSONAL_OWNER

from ..errors import EmbedderNotUsable
from ..ports import Embedder
from ..retriever import LibraryRetriever
from ..workspace import Workspace
from .calibration import FALSE_ACCEPTS, calibrated_floor
from .catching_up import Progress, VectorCatchUp
from .embedding import checked_embedder
from .entries import space_of
from .loading import EmbedderLoading
from .second_opinion import SecondOpinion


class SemanticHalf:
    """Vectors of a library's passages, made beside its work. Without an embedder it does nothing. Thread-safe."""

    def __init__(self, workspace: Workspace, embedder: Embedder | None, *, floor: float | None = None) -> None:
        self.embedder = checked_embedder(embedder) if embedder is not None else None
        self._workspace = workspace
        self._floor = floor
        self._loading = EmbedderLoading(self.embedder) if self.embedder is not None else None
        self._catch_up: VectorCatchUp | None = None
        if self.embedder is not None and self._loading is not None:
            self._catch_up = VectorCatchUp(workspace, self.embedder, self._loading)

    def retriever(self, lexical: LibraryRetriever, *, keep_alike: bool) -> LibraryRetriever | SecondOpinion:
        """``lexical``, with a second opinion where there is an embedder."""
        if self.embedder is None or self._loading is None:
            return lexical
        vectors = self._workspace.vectors
        return SecondOpinion(lexical, vectors, self.embedder, self._loading, floor=self._floor, keep_alike=keep_alike)

    def load(self) -> None:
        """Wait until the embedder is loaded. Without this a search waits for a second at most, then goes by words."""
        if self._loading is not None:
            self._loading.wait()

    def wake(self, *owner_ids: str) -> None:
        """Give new passages of these owners their vectors soon, in the background."""
        if self._catch_up is not None:
            self._catch_up.wake(owner_ids)

    def wake_all(self) -> None:
        """Go on where the last process stopped, for every owner."""
        if self._catch_up is not None:
            with self._workspace.reading() as catalog:
                self._catch_up.wake(catalog.owners())

    def embed_missing(self, *, owner_id: str = PERSONAL_OWNER, progress: Progress | None = None) -> int:
        """Give every passage its vector now; returns how many were made. ``progress`` gets done and all.

        Raises `EmbedderNotUsable` when the library has no embedder or when it fails.
        """
        if self._catch_up is None or self.embedder is None:
            raise EmbedderNotUsable("", "is missing", "Open the library with one: DomainLibrary(store, embedder=...).")
        try:
            return self._catch_up.run(owner_id, progress)
        except EmbedderNotUsable:
            raise
        except Exception as error:
            problem = f"failed ({type(error).__name__})"
            raise EmbedderNotUsable(self.embedder.embedder_id, problem, "The library's log has the cause.") from error

    def rebuild(self, owner_id: str, progress: Progress | None = None) -> None:
        """Make the owner's vectors anew; does nothing without an embedder."""
        if self._catch_up is not None:
            with self._workspace.writing():
                self._workspace.vectors.erase(owner_id)
            self.embed_missing(owner_id=owner_id, progress=progress)

    def count(self, *, owner_id: str = PERSONAL_OWNER, document_id: str | None = None) -> int:
        """How many passages have a vector of this embedder, or of any where there is none. Damaged files hold none."""
        space = space_of(self.embedder) if self.embedder is not None else None
        try:
            return len(self._workspace.vectors.held(owner_id, space, document_id=document_id))
        except OSError:
            return 0

    def calibrated_floor(
        self,
        *,
        owner_id: str = PERSONAL_OWNER,
        questions: Sequence[str] = (),
        false_accepts: float = FALSE_ACCEPTS,
    ) -> float:
        """The ``similarity_floor`` that lets in ``false_accepts`` of ``questions``, which nothing here answers.

        Without ``questions``, everyday ones in many languages. Raises `EmbedderNotUsable` without an embedder and
        `ValueError` without vectors.
        """
        if self.embedder is None:
            raise EmbedderNotUsable("", "is missing", "Open the library with one: DomainLibrary(store, embedder=...).")
        vectors = self._workspace.vectors
        return calibrated_floor(self.embedder, vectors, owner_id, questions=questions, false_accepts=false_accepts)

    def close(self) -> None:
        """Stop embedding after the batch at work; the rest is made when the library is opened again."""
        if self._catch_up is not None:
            self._catch_up.close()


__all__ = ["SemanticHalf"]
