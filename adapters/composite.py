"""`CompositeProvider`: several providers as one. What one of them cannot answer in time, the others still do."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

from pydantic import Field

from knowledge_provider import (
    InvalidRetrievalRequest,
    KnowledgeBase,
    KnowledgeRetrievalProvider,
    ProviderContractError,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)

from ._config import Config, NamedConfig, read_config
from ._description import description
from ._interleaving import interleaved
from ._part import Found, Part

MARGIN = 0.9
"""The share of the caller's remaining time that the parts may use; the rest is for merging and for the way back."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class CompositeProvider:
    """Asks all parts at once and merges what came in time, by rank, with the parts that are missing named.

    ``parts`` maps names to providers. Each has ``share_seconds`` at most (or a number of its own by name) and a rest
    after ``failures`` in a row. ``hedge_after_seconds`` asks a part that is silent so long a second time. Knowledge
    bases of the parts appear as "name:id". Filters are a mapping from each part's name to its own filters: a part that
    is not named would be searched without any, so every one must be.
    """

    def __init__(
        self,
        parts: Mapping[str, KnowledgeRetrievalProvider],
        *,
        key: str,
        label: str,
        share_seconds: float | Mapping[str, float] = 8.0,
        failures: int = 3,
        rest_seconds: float = 10.0,
        hedge_after_seconds: float | None = None,
    ) -> None:
        if not parts:
            raise ValueError("CompositeProvider needs at least one part")
        if wrong := [name for name in parts if not _NAME.fullmatch(name)]:
            raise ValueError(f"names of parts are lower case letters, digits and hyphens, not {wrong[0]!r}")
        shares = share_seconds if isinstance(share_seconds, Mapping) else dict.fromkeys(parts, share_seconds)
        self._parts = {
            name: Part(
                name,
                provider,
                share_seconds=shares.get(name, 8.0),
                failures=failures,
                rest_seconds=rest_seconds,
                hedge_after_seconds=hedge_after_seconds,
            )
            for name, provider in parts.items()
        }
        filters = all(part.description.capabilities.get("filters", False) for part in self._parts.values())
        self._description = description(key, label, filters=filters).model_copy(
            update={"knowledge_bases": self._knowledge_bases()}
        )

    def _knowledge_bases(self) -> tuple[KnowledgeBase, ...] | None:
        bases = [
            base.model_copy(update={"id": f"{name}:{base.id}"})
            for name, part in self._parts.items()
            for base in part.description.knowledge_bases or ()
        ]
        return tuple(bases[:64]) or None

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Mapping[str, Any]:
        """Return ``{"results": [...], "partial": [names]}``; raises only when no part answered."""
        requests = self._requests(request)
        within = replace(context, deadline=context.deadline - context.remaining_seconds() * (1 - MARGIN))
        if context.deadline == float("inf"):
            within = context
        tasks = {name: asyncio.create_task(self._parts[name].ask(own, within)) for name, own in requests.items()}
        try:
            await asyncio.wait(tasks.values())  # each part keeps to its share, whatever its provider does
        finally:
            for task in tasks.values():
                task.cancel()
        ends = {name: _end(name, task) for name, task in tasks.items()}
        answers = {name: end for name, end in ends.items() if isinstance(end, tuple)}
        failures = {name: end for name, end in ends.items() if isinstance(end, BaseException)}
        if not answers:
            raise self._nothing(failures)
        return self._merged(answers, list(failures), request.top_k)

    def _merged(self, answers: Mapping[str, Found], failed: Sequence[str], top_k: int) -> Mapping[str, Any]:
        missing = [name for _, names in answers.values() for name in names]
        results = interleaved({name: found for name, (found, _) in answers.items()}, top_k)
        return {"results": results, "partial": [*failed, *missing]}

    def _nothing(self, failures: Mapping[str, BaseException]) -> RetrievalError:
        """The error of the only part asked, or of a request that none could take, else that no part answers."""
        first = next(iter(failures.values()))
        refused = all(isinstance(error, InvalidRetrievalRequest) for error in failures.values())
        if isinstance(first, RetrievalError) and (refused or len(failures) == 1):
            return first
        if all(isinstance(error, RetrievalTimedOut) for error in failures.values()):
            error: RetrievalError = RetrievalTimedOut(self._description.key)
        else:
            error = ProviderUnavailable(self._description.key, f"has no part that answers: {', '.join(failures)}")
        error.__cause__ = first
        return error

    def _requests(self, request: RetrievalRequest) -> dict[str, RetrievalRequest]:
        """What each part is asked: its own knowledge bases and its own filters."""
        key = self._description.key
        if request.filters and set(request.filters) != set(self._parts):
            raise UnsupportedFilters(key, "takes filters as a mapping from the name of every part to its own")
        asked = dict.fromkeys(self._parts, request)
        if request.knowledge_base_ids:
            asked = self._by_knowledge_base(request)
        if request.filters:
            asked = {name: own.model_copy(update={"filters": request.filters[name]}) for name, own in asked.items()}
        return asked

    def _by_knowledge_base(self, request: RetrievalRequest) -> dict[str, RetrievalRequest]:
        ids: dict[str, list[str]] = {}
        for base in request.knowledge_base_ids:
            name, _, own = base.partition(":")
            if name not in self._parts or not own:
                raise UnknownKnowledgeBase([base])
            ids.setdefault(name, []).append(own)
        return {name: request.model_copy(update={"knowledge_base_ids": tuple(own)}) for name, own in ids.items()}

    async def health(self) -> ProviderHealth:
        """Ready when all parts are, unavailable when none is, else degraded with the missing parts named."""
        names = list(self._parts)
        states = await asyncio.gather(*(part.health() for part in self._parts.values()))
        missing = [name for name, state in zip(names, states, strict=True) if not state.ok]
        if len(missing) == len(names):
            return ProviderHealth(status="unavailable", message="No part is available.")
        if missing:
            return ProviderHealth(status="degraded", message=f"Not available: {', '.join(missing)}."[:500])
        degraded = any(state.status == "degraded" for state in states)
        return ProviderHealth(status="degraded" if degraded else "ready")

    async def close(self) -> None:
        """Close every part, also when closing another one fails."""
        ends = await asyncio.gather(*(part.close() for part in self._parts.values()), return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise ProviderUnavailable(self._description.key, "could not be closed completely") from end


def _end(name: str, task: "asyncio.Task[Found]") -> Found | BaseException:
    """How a part's call ended; one that cancels itself has failed."""
    if task.cancelled():
        return ProviderUnavailable(name)
    return task.exception() or task.result()


class _PartConfig(Config):
    provider: str
    config: dict[str, Any] = Field(default_factory=dict)
    share_seconds: float = Field(default=8.0, gt=0)


class _CompositeConfig(NamedConfig):
    parts: dict[str, _PartConfig] = Field(min_length=1)
    failures: int = Field(default=3, ge=1)
    rest_seconds: float = Field(default=10.0, gt=0)
    hedge_after_seconds: float | None = Field(default=None, gt=0)


def from_config(config: Mapping[str, Any]) -> CompositeProvider:
    """Build the parts by their names in the entry-point group "earpiece.providers", then the composite."""
    settings = read_config(_CompositeConfig, config, "composite")
    parts: dict[str, Any] = {}
    for name, part in settings.parts.items():
        found = entry_points(group="earpiece.providers", name=part.provider)
        if not found:
            raise ProviderContractError("composite", f"has a part of unknown kind {part.provider!r}", "Install it")
        parts[name] = next(iter(found)).load()(part.config)
    return CompositeProvider(
        parts,
        key=settings.key,
        label=settings.label,
        share_seconds={name: part.share_seconds for name, part in settings.parts.items()},
        failures=settings.failures,
        rest_seconds=settings.rest_seconds,
        hedge_after_seconds=settings.hedge_after_seconds,
    )


__all__ = ["CompositeProvider", "from_config"]
