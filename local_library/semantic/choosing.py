"""Which embedder a command or a gateway uses, by name."""

import os
from collections.abc import Mapping

from ..errors import EmbedderNotUsable
from ..ports import Embedder

VARIABLE = "EARPIECE_DOMAIN_LIBRARY_EMBEDDER"
CHOICES = ("off", "offline")


def embedder_named(name: str) -> Embedder | None:
    """The embedder of that name: None for ``off`` or nothing. Raises `EmbedderNotUsable` for another or a missing one.

    A host with an embedder of its own gives it to `DomainLibrary` instead.
    """
    wanted = name.strip().lower() or "off"
    if wanted not in CHOICES:
        raise EmbedderNotUsable(name, "is none that comes with Earpiece", f"Choose one of: {', '.join(CHOICES)}.")
    if wanted == "off":
        return None
    from .sentence_encoder import OfflineEmbedder

    return OfflineEmbedder()


def embedder_from_environment(environment: Mapping[str, str] | None = None) -> Embedder | None:
    """The embedder that ``EARPIECE_DOMAIN_LIBRARY_EMBEDDER`` names; None where it is not set."""
    return embedder_named((os.environ if environment is None else environment).get(VARIABLE, ""))


__all__ = ["CHOICES", "VARIABLE", "embedder_from_environment", "embedder_named"]
