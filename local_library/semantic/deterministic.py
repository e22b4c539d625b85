"""An embedder for tests: hashes of words, the same bytes on every machine. It understands nothing."""

import hashlib
import logging
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import EmbedderNotUsable

if TYPE_CHECKING:
    import numpy
    import numpy.typing

_LOGGER = logging.getLogger(__name__)
_MARKS = b".,;:!?()[]\"'"
TEST_ENVIRONMENT = "test"


class DeterministicEmbedder:
    """Gives texts with common words similar vectors, by integer arithmetic on hashes; a fixture, no model.

    It refuses to be made outside tests, since it would pass for an understanding that it does not have: raises
    `EmbedderNotUsable` unless the environment variable ``EARPIECE_ENVIRONMENT`` is ``test``, or
    ``allow_in_production`` is set, which is logged as a warning each time.
    """

    similarity_floor = 0.5

    def __init__(self, *, dimensions: int = 64, allow_in_production: bool = False) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions is {dimensions}; expected at least 1")
        self.model = "hashed-words-1"
        self.dimensions = dimensions
        self.embedder_id = f"deterministic-test:{self.model}:{dimensions}"
        if allow_in_production:
            _LOGGER.warning("The test embedder %s is in use outside tests: its matches mean nothing.", self.embedder_id)
        elif os.environ.get("EARPIECE_ENVIRONMENT", "").strip().lower() != TEST_ENVIRONMENT:
            raise EmbedderNotUsable(
                self.embedder_id,
                "is made for tests and refuses to run in production",
                "Give an embedder that understands text, or pass allow_in_production=True if you mean it.",
            )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> "numpy.typing.NDArray[numpy.float32]":
        """One row of length 1 for each text; a text without words gives zeros. ``query`` changes nothing."""
        import numpy

        return numpy.array([self._row(text) for text in texts], dtype=numpy.float32).reshape(-1, self.dimensions)

    def _row(self, text: str) -> list[float]:
        sums = [0] * self.dimensions
        # Bytes, not characters: what is a letter differs between versions of Unicode.
        for word in text.encode("utf-8", "surrogatepass").lower().split():
            for place, value in enumerate(_values(word.strip(_MARKS), self.dimensions)):
                sums[place] += value
        # Root and quotient of exact numbers are rounded the same way everywhere (IEEE 754).
        length = math.sqrt(sum(value * value for value in sums))
        return [value / length for value in sums] if length else [0.0] * self.dimensions


def _values(word: bytes, dimensions: int) -> list[int]:
    """Whole numbers from -128 to 127; none for a word of punctuation."""
    if not word:
        return []
    drawn = hashlib.shake_256(word).digest(dimensions)
    return [byte - 128 for byte in drawn]


__all__ = ["DeterministicEmbedder"]
