"""The service as a gateway meets it: a provider like any other."""

from typing import Any

import pytest

from knowledge_provider import (
    KnowledgeRetrievalProvider,
    ProviderUnavailable,
    RetrievalRequest,
    RetrievalTimedOut,
    UnknownKnowledgeBase,
)
from knowledge_provider.conformance import Conditions, check_provider
from knowledge_service import IndexFailed, KnowledgeService
from knowledge_service.indexes.memory import MemoryIndex
from tests.knowledge_service.host import ADA, AGENT, BrokenIndex, Host, StuckIndex, context, declared


async def test_the_service_is_a_provider(host: Host) -> None:
    """A gateway mounts it like any other; sources for everyone are its knowledge bases."""
    assert isinstance(host.service, KnowledgeRetrievalProvider)
    host.service.register_source(declared("secret", audience=["role:agent"]))
    described = host.service.describe()
    assert [base.id for base in described.knowledge_bases or ()] == ["articles"]


async def test_the_service_passes_the_checks_that_any_provider_must_pass(host: Host) -> None:
    """The public conformance kit over real rows: shape, bounds, cancellation, owner isolation, concurrency, closing."""
    host.rows(4, public=False, start=20)
    await host.service.reindex_source("articles")
    owners = {"ada": ADA, "bob": AGENT}

    def factory() -> KnowledgeService:
        made = KnowledgeService(data_engine=host.engine, callers=owners.get)
        made.register_adapter("memory", host.index)
        made.register_source(declared())
        return made

    conditions = Conditions(queries=("refund", "refund 20", "refund 1"), owners=("ada", "bob"))
    results = await check_provider(factory, conditions)
    assert len(results) > 5
    assert [(result.name, result.sentence) for result in results if not result.passed] == []


async def test_closing_closes_every_adapter_also_after_one_that_fails(host: Host) -> None:
    """One broken index keeps no connection of another open."""
    closed: list[str] = []

    class Closing(MemoryIndex):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)
            if self.name == "first":
                raise RuntimeError("it broke")

    for name in ("first", "second"):
        host.service.register_adapter(name, Closing(name))
    await host.service.close()
    assert closed == ["first", "second"]


async def test_the_caller_is_the_owner_as_the_host_maps_them(host: Host) -> None:
    """An owner the host does not know is nobody, and no owner is ever the system."""
    request = RetrievalRequest(query="refund", top_k=2)
    assert len((await host.service.retrieve(request, context()))["results"]) == 2
    for owner in ("stranger", "system"):
        assert (await host.service.retrieve(request, context(owner)))["results"] == []


async def test_a_partial_outcome_reaches_the_model_by_the_contract(host: Host) -> None:
    """The gateway tells the model which part was not searched, so that it does not claim there is nothing."""
    host.mount("broken", BrokenIndex())
    answer = await host.service.retrieve(RetrievalRequest(query="refund", top_k=3), context())
    assert (len(answer["results"]), answer["partial"]) == (3, ["broken"])
    assert "hunter2" not in repr(answer)


async def test_a_search_that_wholly_failed_is_an_error_and_not_an_empty_answer(host: Host, stuck: StuckIndex) -> None:
    """Late and failed are told apart; an undisclosed base is refused."""
    host.mount("stuck", stuck)
    host.mount("broken", BrokenIndex())

    def asking(name: str) -> RetrievalRequest:
        return RetrievalRequest(query="refund", knowledge_base_ids=(name,))

    with pytest.raises(ProviderUnavailable):
        await host.service.retrieve(asking("broken"), context())
    with pytest.raises(RetrievalTimedOut):
        await host.service.retrieve(asking("stuck"), context(seconds=0.1))
    with pytest.raises(UnknownKnowledgeBase):
        await host.service.retrieve(asking("nowhere"), context())


async def test_health_names_the_index_that_is_away(host: Host) -> None:
    """Ready, degraded or unavailable by the adapters that sources use."""
    assert (await host.service.health()).status == "ready"

    class Away(MemoryIndex):
        async def health_check(self) -> Any:
            raise IndexFailed("away", "is down")

    host.mount("away", Away())
    health = await host.service.health()
    assert (health.status, health.message) == ("degraded", "not answering: away")
    assert (await KnowledgeService().health()).status == "unconfigured"
