"""Providers by name: entry points of any installed distribution, from real metadata on the path."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.providers import InstalledProvider, list_providers, load_provider
from knowledge_provider import ProviderContractError

Install = Callable[..., None]

MODULE = """
import vendor_that_is_not_there as vendor
"""
GOOD = """
def build(config):
    return Provider(config)

class Provider:
    def __init__(self, config):
        if config.get("wrong"):
            raise ValueError("bad value " + config["secret"])
        self.config = config
    def describe(self):
        return {"protocol_version": self.config.get("version", 1), "key": "third-party", "label": "Third party"}
    async def retrieve(self, request, context):
        return []
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a distribution into a folder of its own on the path, as a package manager would."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(distribution: str, name: str, target: str, code: str = GOOD) -> None:
        module = target.partition(":")[0]
        sys.modules.pop(module, None)
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[earpiece.providers]\n{name} = {target}\n")

    return make


def test_the_adapters_of_this_project_are_listed() -> None:
    """Each can be mounted by name once its package is there."""
    names = {provider.name for provider in list_providers()}
    assert names >= {
        "composite", "dify", "function", "haystack", "http", "langchain", "llama-index", "mcp", "openai-file-search",
        "ragflow",
    }  # fmt: skip


def test_a_third_party_plugs_in_by_its_metadata(install: Install) -> None:
    """Nobody's code but its own has to change."""
    install("acme-search", "acme", "acme_search_one:build")
    assert InstalledProvider("acme", "acme-search", "acme_search_one:build") in list_providers()
    assert "acme_search_one" not in sys.modules
    provider = load_provider("acme", {"secret": "s3cret"})
    assert provider.describe() == {"protocol_version": 1, "key": "third-party", "label": "Third party"}


def test_an_unknown_name_is_answered_with_the_nearest_or_with_all() -> None:
    """A typing mistake costs one look."""
    with pytest.raises(ProviderContractError, match="Did you mean 'ragflow'"):
        load_provider("ragflwo", {})
    with pytest.raises(ProviderContractError, match=r"Installed are: .*composite, dify"):
        load_provider("zzz", {})


def test_a_name_that_two_distributions_claim_is_refused(install: Install) -> None:
    """Which of them is mounted must not depend on the order of a path."""
    install("acme-search", "acme", "acme_search_two:build")
    install("evil-search", "acme", "evil_search:build")
    with pytest.raises(ProviderContractError, match="acme-search, evil-search"):
        load_provider("acme", {})


def test_a_missing_package_is_named(install: Install) -> None:
    """The sentence says what is not there."""
    install("acme-search", "acme", "acme_search_three:build", MODULE)
    with pytest.raises(ProviderContractError, match="vendor_that_is_not_there"):
        load_provider("acme", {})


def test_a_factory_that_fails_is_told_without_its_text(install: Install) -> None:
    """Its exception may quote the config, and the config may hold a secret."""
    install("acme-search", "acme", "acme_search_four:build")
    with pytest.raises(ProviderContractError, match="ValueError") as caught:
        load_provider("acme", {"wrong": True, "secret": "s3cret"})
    assert "s3cret" not in f"{caught.value} {vars(caught.value)}"


def test_a_provider_that_breaks_the_contract_fails_here(install: Install) -> None:
    """It is refused when the gateway is composed, not in a voice turn."""
    install("acme-search", "acme", "acme_search_five:build")
    with pytest.raises(ProviderContractError, match="speaks protocol 2"):
        load_provider("acme", {"version": 2})


def test_an_adapter_of_this_project_is_built_from_a_config() -> None:
    """The whole way from a name and a mapping to a provider; its own complaint about the config passes unchanged."""
    config = {"key": "wiki", "label": "Wiki", "url": "https://wiki.example.com/search"}
    assert load_provider("http", config).describe().key == "wiki"  # type: ignore[union-attr]
    with pytest.raises(ProviderContractError, match="'token' is not known"):
        load_provider("http", {**config, "token": "s3cret"})
