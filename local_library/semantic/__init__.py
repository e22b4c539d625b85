"""The semantic half: passages found by what they mean, as a second opinion where words find nothing.

Nothing here is loaded before an embedder is given to `DomainLibrary`. Names are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibration import calibrated_floor, everyday_questions
    from .choosing import embedder_from_environment, embedder_named
    from .deterministic import DeterministicEmbedder
    from .sentence_encoder import OfflineEmbedder

_HOME_OF = {
    "DeterministicEmbedder": ".deterministic",
    "OfflineEmbedder": ".sentence_encoder",
    "calibrated_floor": ".calibration",
    "everyday_questions": ".calibration",
    "embedder_from_environment": ".choosing",
    "embedder_named": ".choosing",
}

__all__ = [
    "DeterministicEmbedder",
    "OfflineEmbedder",
    "calibrated_floor",
    "embedder_from_environment",
    "embedder_named",
    "everyday_questions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name], __name__), name)
