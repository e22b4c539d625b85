"""Retrieval systems that can be mounted by name: what is installed in the entry-point group "earpiece.providers".

An entry point is a function from a config mapping to a provider. The gateway knows names, never adapters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from knowledge_provider import KnowledgeError, KnowledgeRetrievalProvider, ProviderContractError

from .composition import checked_description

GROUP = "earpiece.providers"


@dataclass(frozen=True, slots=True)
class InstalledProvider:
    """A provider that can be mounted by ``name``: the distribution it came with, and the function that builds it."""

    name: str
    distribution: str
    target: str


def list_providers() -> list[InstalledProvider]:
    """Return what is installed, by name. Nothing is imported."""
    found = {InstalledProvider(entry.name, _distribution(entry), entry.value) for entry in entry_points(group=GROUP)}
    return sorted(found, key=lambda provider: (provider.name, provider.distribution))


def load_provider(name: str, config: Mapping[str, Any]) -> KnowledgeRetrievalProvider:
    """Build the provider ``name`` from ``config`` and check what it says of itself.

    Raises `ProviderContractError` that says what to mend: an unknown name, a name that two distributions claim, a
    missing package, a wrong config. A value of the config is never repeated: it may be a secret.
    """
    entry = _entry_point(name)
    try:
        provider = entry.load()(config)
    except KnowledgeError:
        raise
    except ImportError as error:
        raise ProviderContractError(name, f"cannot be imported: {_missing(error)}", "Install what it needs") from error
    except Exception as error:
        problem = f"could not be built from its config ({type(error).__name__})"
        raise ProviderContractError(name, problem, "Compare the config with the provider's page") from error
    checked_description(provider)
    return provider  # type: ignore[no-any-return]


def _entry_point(name: str) -> EntryPoint:
    claims = {(entry.value, _distribution(entry)): entry for entry in entry_points(group=GROUP, name=name)}
    if not claims:
        raise ProviderContractError(name, "is not installed", _suggestion(name))
    if len(claims) > 1:
        owners = ", ".join(sorted(distribution for _, distribution in claims))
        raise ProviderContractError(name, f"is claimed by several distributions: {owners}", "Uninstall all but one")
    return next(iter(claims.values()))


def _suggestion(name: str) -> str:
    names: Sequence[str] = sorted({provider.name for provider in list_providers()})
    close = get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]!r}" if close else f"Installed are: {', '.join(names) or 'none'}"


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else ""


def _missing(error: ImportError) -> str:
    """Adapters say which package to install; an import error of anything else is told by the module's name alone."""
    text = str(error)
    return text if "pip install" in text else f"{error.name or type(error).__name__!r} is missing"


__all__ = ["GROUP", "InstalledProvider", "list_providers", "load_provider"]
