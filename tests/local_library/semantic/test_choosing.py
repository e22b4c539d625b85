"""The embedder by its name, as commands and gateways choose it."""

import pytest

from local_library import EmbedderNotUsable
from local_library.semantic import OfflineEmbedder, embedder_from_environment, embedder_named


@pytest.mark.parametrize("name", ["", "off", " OFF "])
def test_off_is_no_embedder(name: str) -> None:
    """Nothing is loaded unless somebody asks."""
    assert embedder_named(name) is None


def test_offline_is_the_shipped_model() -> None:
    """The one name that comes with the extra."""
    assert isinstance(embedder_named("offline"), OfflineEmbedder)


def test_another_name_is_refused_with_those_that_exist() -> None:
    """A typing error is told, not taken for off."""
    with pytest.raises(EmbedderNotUsable, match="off, offline"):
        embedder_named("ofline")


def test_the_environment_names_it() -> None:
    """One variable for every command and the gateway."""
    assert embedder_from_environment({}) is None
    assert embedder_from_environment({"EARPIECE_DOMAIN_LIBRARY_EMBEDDER": "offline"}) is not None
