"""Holds an embedder to its word: as many rows as texts, of its dimensions, all of them numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import EmbedderNotUsable

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from ..ports import Embedder

_LONGEST_NAME = 200
_MOST_DIMENSIONS = 8_192


def checked_embedder(embedder: "Embedder") -> "Embedder":
    """``embedder``, or `EmbedderNotUsable` when its names or dimensions cannot be kept."""
    names = (embedder.embedder_id, embedder.model)
    if not all(isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME for name in names):
        problem = f"needs an embedder_id and a model, each of 1 to {_LONGEST_NAME} characters"
        raise EmbedderNotUsable(str(embedder.embedder_id)[:_LONGEST_NAME], problem, "Name both.")
    if not isinstance(embedder.dimensions, int) or not 1 <= embedder.dimensions <= _MOST_DIMENSIONS:
        problem = f"says it has {embedder.dimensions!r} dimensions"
        raise EmbedderNotUsable(embedder.embedder_id, problem, f"Give a number from 1 to {_MOST_DIMENSIONS}.")
    return embedder


def checked_vectors(
    embedder: "Embedder", texts: Sequence[str], *, query: bool = False
) -> "numpy.typing.NDArray[numpy.float32]":
    """The vectors of ``texts`` (texts, dimensions). Raises `EmbedderNotUsable` when they are none."""
    import numpy

    found = numpy.asarray(embedder.embed(list(texts), query=query), dtype=numpy.float32)
    if found.shape != (len(texts), embedder.dimensions):
        expected = (len(texts), embedder.dimensions)
        raise EmbedderNotUsable(
            embedder.embedder_id, f"gave an array of shape {found.shape}, not {expected}", "Give one row for each text."
        )
    if not numpy.isfinite(found).all():
        raise EmbedderNotUsable(embedder.embedder_id, "gave numbers that are not finite", "Give finite numbers only.")
    return found


__all__ = ["checked_embedder", "checked_vectors"]
