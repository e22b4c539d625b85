"""Files on their way into the library: bounded, under a checked name, never half there."""

import asyncio
import hashlib
import os
import secrets
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

_T = TypeVar("_T")
MAX_UPLOAD_BYTES = 64 * 2**20
MAX_NAME_BYTES = 200
_FORBIDDEN = frozenset('/\\:*?"<>|')


class RejectedUpload(Exception):
    """Raised for an upload that cannot be taken; the sentence says what to do. ``status`` is an HTTP status."""

    def __init__(self, code: str, sentence: str, *, status: int) -> None:
        super().__init__(sentence)
        self.code = code
        self.status = status


def checked_name(name: str) -> str:
    """Return a file name that is nothing but a name. Raises `RejectedUpload`."""
    plain = unicodedata.normalize("NFC", name).strip()
    bad = not plain or plain.startswith(".") or len(plain.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
    odd = any(character in _FORBIDDEN or unicodedata.category(character)[0] == "C" for character in plain)
    if bad or odd:
        sentence = f"A document needs a plain file name of at most {MAX_NAME_BYTES} bytes, such as report.pdf."
        raise RejectedUpload("upload_name", sentence, status=400)
    return plain


class UploadFolder:
    """Keeps uploaded files, a folder for each owner, so that what is found in them can be read where it says."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_UPLOAD_BYTES) -> None:
        self.max_bytes = max_bytes
        self._folder = folder
        self._arriving: dict[str, list[Upload]] = {}

    @asynccontextmanager
    async def incoming(self, owner: str, name: str, length: int | None) -> AsyncIterator["Upload"]:
        """Open an upload; whatever is not `Upload.kept` is gone afterwards. Raises `RejectedUpload`."""
        target = self._folder_of(owner) / checked_name(name)
        if length is not None and length > self.max_bytes:
            raise self._too_large()
        upload = await asyncio.to_thread(Upload, target, self.max_bytes, self._too_large, length)
        self._arriving.setdefault(owner, []).append(upload)
        try:
            yield upload
        finally:
            try:
                # Cancellation may come while bytes are written; the file is closed and removed all the same.
                await asyncio.shield(asyncio.to_thread(upload.discard))
            finally:
                self._arrived(owner, upload)

    def under_way(self, owner: str) -> list[dict[str, Any]]:
        """This owner's files that are being received or read just now."""
        return [upload.state() for upload in self._arriving.get(owner, ())]

    def _arrived(self, owner: str, upload: "Upload") -> None:
        """Forget it once it is read to its end: that goes on when its sender goes away."""
        if upload.reading is not None and not upload.reading.done():
            upload.reading.add_done_callback(lambda _: self._arrived(owner, upload))
            return
        self._arriving[owner].remove(upload)
        if not self._arriving[owner]:
            del self._arriving[owner]

    async def forget(self, owner: str, path: Path) -> None:
        """Delete the uploaded file of a removed document; any other path is left alone."""
        if self.holds(owner, path):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    def holds(self, owner: str, path: Path) -> bool:
        """Say whether a path is a file that this owner uploaded."""
        return path.parent == self._folder_of(owner)

    def _folder_of(self, owner: str) -> Path:
        # An owner's name is no file name; its hash is one, and tells nobody who it is.
        return self._folder / hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _too_large(self) -> RejectedUpload:
        sentence = f"The file is larger than {self.max_bytes / 2**20:g} MB. Split it into smaller ones."
        return RejectedUpload("upload_too_large", sentence, status=413)


class Upload:
    """One file that arrives. Its bytes go to a name that nobody looks at until they are complete."""

    def __init__(
        self, target: Path, max_bytes: int, too_large: Callable[[], RejectedUpload], length: int | None = None
    ) -> None:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._target = target
        self._partial = target.with_name(f".{secrets.token_hex(8)}.part")
        self._previous = target.with_name(f".{secrets.token_hex(8)}.old")
        descriptor = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file: BinaryIO = os.fdopen(descriptor, "wb")
        self._room = max_bytes
        self._too_large = too_large
        self._length = length
        self._received = 0
        self.reading: asyncio.Future[Any] | None = None

    async def write(self, piece: bytes) -> None:
        """Take more bytes. Raises `RejectedUpload` as soon as they are too many."""
        self._room -= len(piece)
        self._received += len(piece)
        if self._room < 0:
            raise self._too_large()
        await asyncio.to_thread(self._file.write, piece)

    async def kept(self, take: Callable[[Path], _T]) -> _T:
        """Put the file in its place and hand it to ``take``, in a thread; an older one stays if that fails."""
        # What has begun to be imported is imported to its end, also when the client goes away meanwhile.
        reading: asyncio.Future[_T] = asyncio.ensure_future(asyncio.to_thread(self._keep, take))
        self.reading = reading
        return await asyncio.shield(reading)

    def state(self) -> dict[str, Any]:
        """How far it is; ``bytes`` is None where the sender did not say how many there will be."""
        return {
            "name": self._target.name,
            "status": "importing",
            "phase": "receiving" if self.reading is None else "reading",
            "bytes": self._length,
            "received": self._received,
        }

    def discard(self) -> None:
        """Close and remove what did not get its place."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _keep(self, take: Callable[[Path], _T]) -> _T:
        self._file.close()
        had_one = self._target.exists()
        if had_one:
            self._target.replace(self._previous)
        self._partial.replace(self._target)
        try:
            taken = take(self._target)
        except BaseException:
            self._target.unlink(missing_ok=True)
            if had_one:
                self._previous.replace(self._target)
            raise
        self._previous.unlink(missing_ok=True)
        return taken


__all__ = ["MAX_UPLOAD_BYTES", "RejectedUpload", "Upload", "UploadFolder", "checked_name"]
