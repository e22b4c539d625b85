"""Other people's packages offer indexes by entry point."""

from pathlib import Path

import pytest

from knowledge_service import UnknownAdapter, adapter_from_plugin

PLUGIN = """
from knowledge_service.indexes.memory import MemoryIndex

class OtherIndex(MemoryIndex):
    def __init__(self, options):
        super().__init__()
        self.options = options
"""


def test_an_installed_package_offers_its_index_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package on the path, with its metadata as pip writes it, is found and given its options."""
    (tmp_path / "other_index.py").write_text(PLUGIN)
    metadata = tmp_path / "other_index-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-index\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[earpiece.knowledge_indexes]\nother = other_index:OtherIndex\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = adapter_from_plugin("other", {"level": 3})
    assert made.options == {"level": 3}  # type: ignore[attr-defined]
    with pytest.raises(UnknownAdapter, match="Registered: 'other'"):
        adapter_from_plugin("nowhere", {})
