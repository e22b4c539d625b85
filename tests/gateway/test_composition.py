"""A wrong provider fails when it is mounted, with a sentence that names what is wrong and how to mend it."""

import functools
from typing import Any

import pytest

from gateway.composition import checked_description
from knowledge_provider import (
    ProtocolVersionMismatch,
    ProviderContractError,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
)

DESCRIPTION: dict[str, Any] = {"protocolVersion": 1, "key": "search", "label": "Search"}


class Provider:
    """A provider that describes itself as it is told to."""

    def __init__(self, description: Any = DESCRIPTION) -> None:
        self._description = description

    def describe(self) -> Any:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[Any]:
        return []


class NoDescribe:
    async def retrieve(self, request: Any, context: Any) -> list[Any]:
        return []


class NoRetrieve:
    def describe(self) -> Any:
        return DESCRIPTION


class RetrieveIsNoMethod(Provider):
    retrieve = None  # type: ignore[assignment]


class AsyncDescribe(Provider):
    async def describe(self) -> Any:
        return DESCRIPTION


class RaisesInDescribe(Provider):
    def describe(self) -> Any:
        raise ConnectionError("password=hunter2")


class OneParameter(Provider):
    async def retrieve(self, request: RetrievalRequest) -> list[Any]:  # type: ignore[override]
        return []


class ThreeParameters(Provider):
    async def retrieve(self, request: Any, context: Any, extra: Any) -> list[Any]:  # type: ignore[override]
        return []


class YieldsResults(Provider):
    async def retrieve(self, request: Any, context: Any) -> Any:
        yield {}


class HealthIsNoMethod(Provider):
    health = "ready"


class HealthTakesMore(Provider):
    async def health(self, signal: Any) -> Any:
        return {}


class CloseTakesMore(Provider):
    async def close(self, force: bool) -> None:
        pass


@pytest.mark.parametrize(
    ("provider", "problem", "remedy"),
    [
        (NoDescribe(), "has no method describe()", "Add describe()"),
        (NoRetrieve(), "has no method retrieve()", "Add retrieve()"),
        (RetrieveIsNoMethod(), "has no method retrieve()", "Add retrieve()"),
        (Provider, "is a class", "Pass an instance"),
        (object(), "has no method describe()", "Add describe()"),
        (AsyncDescribe(), "has an asynchronous describe()", "plain 'def'"),
        (RaisesInDescribe(), "raised ConnectionError in describe()", "constants only"),
        (Provider(None), "returned NoneType from describe()", "return a ProviderDescription or a dict"),
        (Provider("search"), "returned str from describe()", "return a ProviderDescription or a dict"),
        (Provider([DESCRIPTION]), "returned list from describe()", "return a ProviderDescription or a dict"),
        (Provider({}), "does not say which protocol it speaks", "Add 'protocol_version': 1"),
        (Provider(DESCRIPTION | {"key": "Search!"}), "wrong key", "lowercase letters, digits and hyphens"),
        (Provider(DESCRIPTION | {"key": 7}), "wrong key", "lowercase letters, digits and hyphens"),
        (Provider(DESCRIPTION | {"label": ""}), "wrong label", "a name for people"),
        (Provider({"protocolVersion": 1, "key": "search"}), "wrong label", "a name for people"),
        (Provider(DESCRIPTION | {"capabilities": {"filters": "yes"}}), "wrong capabilities.filters", "True or False"),
        (Provider(DESCRIPTION | {"capabilities": {"filters": 1}}), "wrong capabilities.filters", "True or False"),
        (Provider(DESCRIPTION | {"knowledgeBases": [{"label": "x"}]}), "wrong knowledgeBases.0.id", "Disclose at most"),
        (Provider(DESCRIPTION | {"knowledgeBases": [{"id": "a"}, {"id": "a"}]}), "one knowledge base id twice", "own"),
        (OneParameter(), "does not take (request, context)", "async def retrieve(self, request, context)"),
        (ThreeParameters(), "does not take (request, context)", "async def retrieve(self, request, context)"),
        (YieldsResults(), "has a retrieve() that yields", "return a list"),
        (HealthIsNoMethod(), "has a health that is not a method", "Make health a method"),
        (HealthTakesMore(), "has a health() that does not take no parameters", "async def health(self)"),
        (CloseTakesMore(), "has a close() that does not take no parameters", "async def close(self)"),
    ],
)
def test_a_wrong_provider_is_named_with_its_remedy(provider: Any, problem: str, remedy: str) -> None:
    """Composition says what is wrong and how to mend it (design, section 3)."""
    with pytest.raises(ProviderContractError) as caught:
        checked_description(provider)
    assert problem in str(caught.value)
    assert remedy in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("version", [0, 2, "1", 1.0, True])
def test_another_protocol_version_fails(version: Any) -> None:
    """Incompatible providers fail during composition rather than during a voice turn (seed 1, "Provider contract")."""
    with pytest.raises(ProtocolVersionMismatch) as caught:
        checked_description(Provider(DESCRIPTION | {"protocolVersion": version}))
    assert caught.value.found == version


def test_a_description_made_without_validation_is_validated() -> None:
    """A model instance is no proof of its content."""
    unchecked = ProviderDescription.model_construct(protocol_version=1, key="Wrong Key", label="x")
    with pytest.raises(ProviderContractError, match="wrong key"):
        checked_description(Provider(unchecked))


@pytest.mark.parametrize("description", [DESCRIPTION, ProviderDescription.model_validate(DESCRIPTION)])
def test_a_right_provider_is_described(description: Any) -> None:
    """A dict serves as well as the model."""
    assert checked_description(Provider(description)).key == "search"


def test_a_partial_and_extra_optional_parameters_are_fine() -> None:
    """What can be called with (request, context) is right, however it came about."""

    async def retrieve(index: str, request: Any, context: Any, *, verbose: bool = False) -> list[Any]:
        return []

    provider = Provider()
    provider.retrieve = functools.partial(retrieve, "index")  # type: ignore[method-assign]
    assert checked_description(provider).key == "search"
