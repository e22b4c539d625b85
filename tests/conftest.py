"""What holds for every test: it has a steady name, and keeps out of a developer's own library and settings."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse test names that hold an address: they differ from process to process, and parallel runs stop at them."""
    unsteady = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unsteady:
        raise pytest.UsageError(f"Give these tests steady names (ids=...): {', '.join(unsteady)}")


@pytest.fixture(autouse=True, scope="session")
def _folders_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        for name in [name for name in os.environ if name.startswith(("EARPIECE_", "QWEN_AUDIO_"))]:
            patch.delenv(name)
        yield
