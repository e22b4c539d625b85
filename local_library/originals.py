"""The original bytes, one file per content hash, in a folder per owner."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def content_hash(content: bytes) -> str:
    """The SHA-256 of ``content`` in hexadecimal: the fingerprint that everything derived carries."""
    return hashlib.sha256(content).hexdigest()


def owner_tag(owner_id: str) -> str:
    """A name for ``owner_id`` that is safe in a path and does not show it."""
    return hashlib.sha256(owner_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Originals:
    """Keeps bytes by owner and content hash; writing the same bytes twice keeps one copy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, owner_id: str, source_content_hash: str) -> Path:
        return self._folder / owner_tag(owner_id) / source_content_hash[:2] / source_content_hash

    def keep(self, owner_id: str, source_content_hash: str, content: bytes) -> None:
        """Write ``content`` so that after a crash it is wholly there or not at all."""
        target = self.path_of(owner_id, source_content_hash)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".part")
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)

    def read(self, owner_id: str, source_content_hash: str) -> bytes:
        return self.path_of(owner_id, source_content_hash).read_bytes()

    def erase(self, owner_id: str, source_content_hash: str) -> None:
        self.path_of(owner_id, source_content_hash).unlink(missing_ok=True)

    def drop_empty(self, owner_id: str) -> None:
        """Remove an owner's folder with everything in it; for an owner that was erased."""
        shutil.rmtree(self._folder / owner_tag(owner_id), ignore_errors=True)

    def stored(self) -> Iterator[Path]:
        """Every file that is kept, unfinished ones among them."""
        return (path for path in self._folder.glob("*/*/*") if path.is_file())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["Originals", "content_hash", "owner_tag"]
