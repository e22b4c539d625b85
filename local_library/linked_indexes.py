"""Indexes on media that cannot be written: tantivy takes a lock file even to read, so it gets a folder of links."""

import shutil
import tempfile
from pathlib import Path


class LinkedIndexes:
    """A temporary folder with a folder for each index below ``indexes``, whose files are links to the real ones."""

    def __init__(self, indexes: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="earpiece-index-"))
        for index in indexes.glob("*"):
            linked = self.folder / index.name
            linked.mkdir()
            for file in index.iterdir():
                if not file.name.endswith(".lock"):
                    (linked / file.name).symlink_to(file)

    def remove(self) -> None:
        """Remove the links; the indexes stay."""
        shutil.rmtree(self.folder, ignore_errors=True)


__all__ = ["LinkedIndexes"]
