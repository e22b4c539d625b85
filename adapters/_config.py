"""Settings of a provider that is built from a config file: strict, and secrets by the name of their variable."""

import importlib
import inspect
import os
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge_provider import ProviderContractError


class Config(BaseModel):
    """Base of every adapter's settings: unknown keys are refused by name, values never show in an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class NamedConfig(Config):
    """What all adapters share: under which key and label the provider is known."""

    key: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)
    label: str = Field(min_length=1, max_length=120)
    timeout_seconds: float = Field(default=8.0, gt=0, le=120)


_C = TypeVar("_C", bound=Config)


def read_config(model: type[_C], config: Mapping[str, Any], provider: str) -> _C:
    """Check a config mapping; raises `ProviderContractError` that names every wrong key and no value."""
    try:
        return model.model_validate(dict(config))
    except ValidationError as error:
        problems = "; ".join(_problem(item) for item in error.errors(include_input=False, include_context=False))
        allowed = ", ".join(sorted(model.model_fields))
        raise ProviderContractError(provider, f"has a wrong config: {problems}", f"It takes {allowed}") from None


def _problem(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "the config"
    if item["type"] == "extra_forbidden":
        return f"{where!r} is not known"
    if item["type"] == "missing":
        return f"{where!r} is missing"
    return f"{where!r} is wrong ({item['type'].replace('_', ' ')})"


def secret(variable: str, provider: str) -> str:
    """Return a secret from the environment; raises `ProviderContractError` that names the variable alone."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ProviderContractError(provider, f"needs the environment variable {variable!r}", "Set it")
    return value


def imported(path: str, provider: str) -> Any:
    """Return the object at "package.module:name"; raises `ProviderContractError` that names the path alone."""
    module_name, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:  # the host's module may raise anything while it is imported
        problem = f"cannot import {path!r} ({type(error).__name__})"
        raise ProviderContractError(provider, problem, "Write it as 'package.module:name'") from error


def imported_options(paths: Mapping[str, str | None], provider: str) -> dict[str, Any]:
    """Return the options that name an object of the host's, as that object; None stays None."""
    return {option: None if path is None else imported(path, provider) for option, path in paths.items()}


def made(path: str, provider: str) -> Any:
    """Return the object at a path, or what the function there returns when it is called without arguments."""
    found = imported(path, provider)
    return found() if inspect.isfunction(found) else found


__all__ = ["Config", "NamedConfig", "imported", "imported_options", "made", "read_config", "secret"]
