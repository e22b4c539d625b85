"""The interface that a retrieval system is given to be asked by a voice agent."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from .models import KnowledgeResult, ProviderDescription, RetrievalContext, RetrievalRequest

RawResults = Sequence[KnowledgeResult | Mapping[str, Any]] | Mapping[str, Any]
"""What a provider may answer: a list of results, or ``{"results": [...]}``, of our models or of plain dicts.

A provider composed of others adds ``"partial": [names]`` when some of them did not answer.
"""


@runtime_checkable
class KnowledgeRetrievalProvider(Protocol):
    """A retrieval system, as Earpiece sees it.

    Two methods are required. Two more are optional and looked up by name: ``async health() -> ProviderHealth``
    (absent means ready) and ``async close() -> None``, called exactly once when the gateway closes.
    """

    def describe(self) -> ProviderDescription | Mapping[str, Any]:
        """Say who this is. Called at composition; opens no connection. A plain dict is accepted."""
        ...

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Awaitable[RawResults] | RawResults:
        """Find passages for ``request`` on behalf of ``context.owner_id``.

        Write it as ``async def``; a plain ``def`` runs in the runtime's own bounded threads. Take identity from the
        context alone. Let cancellation pass; raise a `RetrievalError` for failures worth telling apart.
        """
        ...


__all__ = ["KnowledgeRetrievalProvider", "RawResults"]
