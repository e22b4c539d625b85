"""Any object with describe() and retrieve() is a provider; no base class is needed."""

from typing import Any

from knowledge_provider import KnowledgeRetrievalProvider, RetrievalContext, RetrievalRequest


class Asynchronous:
    def describe(self) -> dict[str, Any]:
        return {}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
        return []


class Plain:
    def describe(self) -> dict[str, Any]:
        return {}

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        return {"results": []}


class NoRetrieve:
    def describe(self) -> dict[str, Any]:
        return {}


def test_asynchronous_and_plain_providers_have_the_protocol() -> None:
    """Both kinds also type-check as providers, which mypy sees here."""
    providers: list[KnowledgeRetrievalProvider] = [Asynchronous(), Plain()]
    assert all(isinstance(provider, KnowledgeRetrievalProvider) for provider in providers)


def test_an_object_without_retrieve_has_not() -> None:
    """Two methods are required."""
    assert not isinstance(NoRetrieve(), KnowledgeRetrievalProvider)
