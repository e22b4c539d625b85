"""Libraries with an embedder, and small documents to put into them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local_library import DomainLibrary
from local_library.ports import Embedder
from tests.local_library.crash_worker import InProcess

Opened = Callable[..., DomainLibrary]


@pytest.fixture(autouse=True)
def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says that these are tests, so that the test embedder runs."""
    monkeypatch.setenv("EARPIECE_ENVIRONMENT", "test")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens libraries in one store, which are closed with the test."""
    with ExitStack() as stack:

        def open_(embedder: Embedder | None, *, similarity_floor: float | None = None) -> DomainLibrary:
            return stack.enter_context(
                DomainLibrary(
                    tmp_path / "store", extractor=InProcess(), embedder=embedder, similarity_floor=similarity_floor
                )
            )

        yield open_


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A folder of three documents, each about a thing of its own."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "boiler.md").write_text("# Boiler\n\nThe boiler is descaled in March.\n\n## Pressure\n\nAt 1.5 bar.\n")
    (folder / "kettle.md").write_text("# Kettle\n\nPriya repairs the kettle.\n")
    (folder / "leave.md").write_text("# Vacation\n\nYou have thirty days of vacation.\n")
    return folder
