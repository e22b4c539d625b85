"""Finds the floor of an embedder in a library: how near its passages come to questions that they do not answer."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from .embedding import checked_vectors
from .entries import space_of
from .vector_store import OwnerVectorStore

if TYPE_CHECKING:
    from ..ports import Embedder

FALSE_ACCEPTS = 0.1
"""The share of questions about other things that may find something."""


def everyday_questions() -> tuple[str, ...]:
    """Questions about many things in many languages, of which a library answers few."""
    text = files(__package__).joinpath("everyday_questions.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def calibrated_floor(
    embedder: "Embedder",
    vectors: OwnerVectorStore,
    owner_id: str,
    *,
    questions: Sequence[str] = (),
    false_accepts: float = FALSE_ACCEPTS,
) -> float:
    """The least similarity that lets in no more than ``false_accepts`` of ``questions``, which have no answer here.

    Without ``questions`` those of `everyday_questions` are asked. Raises `ValueError` when the owner has no vectors of
    this embedder.
    """
    asked = list(questions) or list(everyday_questions())
    found = [
        hits[0].similarity
        for vector in checked_vectors(embedder, asked, query=True)
        if (hits := vectors.search(owner_id, space_of(embedder), vector, 1))
    ]
    if not found:
        raise ValueError("there are no vectors of this embedder; import documents and call embed_missing() first")
    lets_in = int(len(found) * false_accepts)
    highest = sorted(found, reverse=True)
    return min(1.0, round(highest[min(lets_in, len(found) - 1)] + 0.001, 3))


__all__ = ["FALSE_ACCEPTS", "calibrated_floor", "everyday_questions"]
