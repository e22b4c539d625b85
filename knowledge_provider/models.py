"""The values that cross the border between a gateway and a provider.

Attributes are snake_case; JSON on a wire is camelCase (``model_dump(by_alias=True)``); both spellings are read.
A request is what the model proposes, a context is what the host vouches for: they never share an object.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, AllowInfNan, BaseModel, ConfigDict, Field, Strict, StringConstraints
from pydantic.alias_generators import to_camel

from .errors import OwnerRequired

PROTOCOL_VERSION = 1

PERSONAL_OWNER = "personal"
"""The one owner of a gateway on loopback without tokens, and of a library opened without naming an owner."""

MAX_QUERY_CHARACTERS = 500
MAX_TOP_K = 8
DEFAULT_TOP_K = 5
MAX_KNOWLEDGE_BASE_IDS = 8
MAX_KNOWLEDGE_BASE_ID_CHARACTERS = 120
MAX_DISCLOSED_KNOWLEDGE_BASES = 64
MAX_HEALTH_MESSAGE_CHARACTERS = 500

KEY_PATTERN = r"^[a-z0-9][a-z0-9-]*$"

MetadataValue = str | bool | int | float
KnowledgeBaseId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_KNOWLEDGE_BASE_ID_CHARACTERS)]


def _only_visible(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


class _Wire(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class KnowledgeBase(_Wire):
    """One knowledge base that a provider lets callers choose; its id may be shown to the model."""

    id: KnowledgeBaseId
    label: str = Field(default="", max_length=120)
    description: str = Field(default="", max_length=300)


class ProviderDescription(_Wire):
    """What ``describe()`` returns: who the provider is and what it says of itself.

    ``capabilities`` describe and never change the request or the response. Known names: ``filters``, ``scores``,
    ``citations``, and ``speculative`` (``False`` forbids retrieval before the user has finished speaking).
    """

    protocol_version: Annotated[int, Strict()]
    key: str = Field(pattern=KEY_PATTERN, max_length=64)
    label: Annotated[str, StringConstraints(max_length=120), AfterValidator(_only_visible)]
    capabilities: dict[str, Annotated[bool, Strict()]] = Field(default_factory=dict, max_length=16)
    knowledge_bases: tuple[KnowledgeBase, ...] | None = Field(default=None, max_length=MAX_DISCLOSED_KNOWLEDGE_BASES)


class RetrievalRequest(_Wire):
    """What the model proposes. ``filters`` alone come from the host, never from the model."""

    query: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=MAX_QUERY_CHARACTERS),
        AfterValidator(_only_visible),
    ]
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    knowledge_base_ids: tuple[KnowledgeBaseId, ...] = Field(default=(), max_length=MAX_KNOWLEDGE_BASE_IDS)
    filters: Mapping[str, Any] = Field(default_factory=dict)


class Cancellation(Protocol):
    """Tells code that runs in a thread that nobody waits for it any more (``threading.Event`` has this shape)."""

    def is_set(self) -> bool: ...


class _Never:
    def is_set(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalContext:
    """What the host vouches for: who asks, in which turn, until when. Nothing here comes from the model.

    ``deadline`` is a time of ``time.monotonic()``, in seconds. Raises `OwnerRequired` without an owner.
    """

    owner_id: str
    session_id: str = ""
    turn_id: str = ""
    trace_id: str = ""
    deadline: float = float("inf")
    cancelled: Cancellation = field(default_factory=_Never)

    def __post_init__(self) -> None:
        if not isinstance(self.owner_id, str) or not self.owner_id.strip():
            raise OwnerRequired

    def remaining_seconds(self) -> float:
        """Seconds until the deadline, never below zero; infinite without one."""
        return max(0.0, self.deadline - time.monotonic())


class Source(_Wire):
    """Where a result comes from. ``locator`` finds the place for a program; only ``uri`` may become a link."""

    id: str | None = None
    title: str | None = None
    uri: str | None = None
    mime_type: str | None = None
    locator: str | None = None


class KnowledgeResult(_Wire):
    """One passage. A provider needs ``id`` and ``content``; the gateway bounds and cleans everything.

    ``score`` is the system's own finite number, higher is better, or absent. It is never invented.
    """

    id: str
    content: str
    score: Annotated[float, AllowInfNan(False)] | None = None
    source: Source = Field(default_factory=Source)
    metadata: dict[str, MetadataValue] = Field(default_factory=dict)


class CitedResult(KnowledgeResult):
    """A result after the gateway: bounded, cleaned, and with the citation it may be shown under, if any."""

    citation: str | None = None
    truncated: bool = False


class Citation(_Wire):
    """A public page that may be shown to the user as a link; ``id`` is stable within a turn."""

    id: str
    uri: str
    title: str
    snippet: str = ""


class KnowledgeResponse(_Wire):
    """What a search returns to its host. ``more`` counts results left out; ``notice`` frames them as data.

    ``partial`` names the parts of a composed provider that failed or were late: what is here may not be all there is.
    """

    status: Literal["ok", "no_results"]
    query: str
    results: tuple[CitedResult, ...] = ()
    citations: tuple[Citation, ...] = ()
    truncated: bool = False
    more: int = 0
    notice: str = ""
    partial: tuple[str, ...] = ()


class ProviderHealth(_Wire):
    """Whether a provider can answer. Degraded still answers, perhaps slowly or in part."""

    status: Literal["ready", "unconfigured", "degraded", "unavailable"]
    message: str = Field(default="", max_length=MAX_HEALTH_MESSAGE_CHARACTERS)

    @property
    def ok(self) -> bool:
        return self.status in ("ready", "degraded")


__all__ = [
    "DEFAULT_TOP_K",
    "MAX_DISCLOSED_KNOWLEDGE_BASES",
    "MAX_HEALTH_MESSAGE_CHARACTERS",
    "MAX_KNOWLEDGE_BASE_IDS",
    "MAX_KNOWLEDGE_BASE_ID_CHARACTERS",
    "MAX_QUERY_CHARACTERS",
    "MAX_TOP_K",
    "PERSONAL_OWNER",
    "PROTOCOL_VERSION",
    "Cancellation",
    "Citation",
    "CitedResult",
    "KnowledgeBase",
    "KnowledgeResponse",
    "KnowledgeResult",
    "MetadataValue",
    "ProviderDescription",
    "ProviderHealth",
    "RetrievalContext",
    "RetrievalRequest",
    "Source",
]
