"""No test reads or writes a developer's own library, cache or settings."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _folders_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        for name in [name for name in os.environ if name.startswith(("EARPIECE_", "QWEN_AUDIO_"))]:
            patch.delenv(name)
        yield
