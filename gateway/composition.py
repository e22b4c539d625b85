"""What a provider must be before a gateway mounts it. Everything wrong is said here, never in a voice turn."""

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from knowledge_provider import (
    PROTOCOL_VERSION,
    ProtocolVersionMismatch,
    ProviderContractError,
    ProviderDescription,
)

_REMEDIES = {
    "key": "Use lowercase letters, digits and hyphens, at most 64",
    "label": "Give it a name for people, 1 to 120 characters",
    "capabilities": "Give a mapping of at most 16 names to True or False",
    "knowledge_bases": "Disclose at most 64 of {'id', 'label', 'description'}, or leave it out",
}


def checked_description(provider: object) -> ProviderDescription:
    """Return what the provider says of itself. Raises `ProviderContractError` with the problem and its remedy."""
    name = type(provider).__name__
    if inspect.isclass(provider):
        raise ProviderContractError(provider.__name__, "is a class", "Pass an instance of it")
    for method in ("describe", "retrieve"):
        if not callable(getattr(provider, method, None)):
            raise ProviderContractError(name, f"has no method {method}()", f"Add {method}() to it")
    for method in ("health", "close"):
        if not callable(getattr(provider, method, _absent)):
            raise ProviderContractError(name, f"has a {method} that is not a method", f"Make {method} a method")
    description = _described(provider, name)
    _check_parameters(provider, description.key)
    return description


def _absent() -> None:
    """Stands for an optional method."""


def _described(provider: Any, name: str) -> ProviderDescription:
    remedy = "Let it return a ProviderDescription or a dict, without any await or I/O"
    try:
        raw = provider.describe()
    except Exception as error:
        problem = f"raised {type(error).__name__} in describe()"
        raise ProviderContractError(name, problem, "Let describe() return constants only") from error
    if inspect.isawaitable(raw):
        if inspect.iscoroutine(raw):
            raw.close()
        raise ProviderContractError(name, "has an asynchronous describe()", "Write it as a plain 'def'")
    if isinstance(raw, ProviderDescription):
        raw = dict(raw)
    if not isinstance(raw, Mapping):
        raise ProviderContractError(name, f"returned {type(raw).__name__} from describe()", remedy)
    _check_version(raw, name)
    return _validated(raw, name)


def _check_version(raw: Mapping[str, Any], name: str) -> None:
    found = raw.get("protocol_version", raw.get("protocolVersion"))
    if found is None:
        remedy = f"Add 'protocol_version': {PROTOCOL_VERSION}"
        raise ProviderContractError(name, "does not say which protocol it speaks", remedy)
    if type(found) is not int or found != PROTOCOL_VERSION:
        raise ProtocolVersionMismatch(name, expected=PROTOCOL_VERSION, found=found)


def _validated(raw: Mapping[str, Any], name: str) -> ProviderDescription:
    try:
        description = ProviderDescription.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(first["loc"][0]).replace("knowledgeBases", "knowledge_bases") if first["loc"] else "description"
        where = ".".join(str(part) for part in first["loc"])
        problem = f"describes itself with a wrong {where or field}: {first['msg']}"
        raise ProviderContractError(name, problem, _REMEDIES.get(field, "See ProviderDescription")) from error
    ids = [base.id for base in description.knowledge_bases or ()]
    if len(ids) != len(set(ids)):
        raise ProviderContractError(name, "discloses one knowledge base id twice", "Give each an id of its own")
    return description


def _check_parameters(provider: Any, name: str) -> None:
    remedy = "Write it as 'async def retrieve(self, request, context)'"
    if inspect.isgeneratorfunction(provider.retrieve) or inspect.isasyncgenfunction(provider.retrieve):
        raise ProviderContractError(name, "has a retrieve() that yields", "Let retrieve() return a list of results")
    for method, arguments in (("retrieve", (object(), object())), ("health", ()), ("close", ())):
        if not _accepts(getattr(provider, method, _absent), arguments):
            wanted = "(request, context)" if arguments else "no parameters"
            fix = remedy if arguments else f"Write it as 'async def {method}(self)'"
            raise ProviderContractError(name, f"has a {method}() that does not take {wanted}", fix)


def _accepts(method: Any, arguments: tuple[object, ...]) -> bool:
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # methods written in C tell nothing about themselves
        return True
    return True


__all__ = ["checked_description"]
