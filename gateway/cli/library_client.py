"""The library of a running gateway, over HTTP."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

_PIECE_BYTES = 2**18
_DOCUMENTS = "/v1/library/documents"
_QUARANTINE = "/v1/library/quarantine"


class LibraryProblem(Exception):
    """Raised when the gateway refuses or cannot be reached; one sentence for a person."""


class LibraryClient:
    """Lists, uploads and removes. ``base`` is the gateway's http address."""

    def __init__(self, base: str, *, token: str = "") -> None:
        self._base = base.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def listing(self) -> dict[str, Any]:
        """Return ``documents`` by title, and ``quarantined``: the files that could not be imported.

        Raises `LibraryProblem`, also where there is no library to manage.
        """
        return await self._asked("GET", _DOCUMENTS)

    async def documents(self) -> list[dict[str, Any]]:
        """Return the documents, by title. Raises `LibraryProblem` as `listing` does."""
        return list((await self.listing())["documents"])

    async def upload(self, path: Path, progress: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
        """Send one file; ``progress`` gets 0..1. Returns ``{status, document}``. Raises `LibraryProblem`."""
        size = _size_of(path)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        address = f"{_DOCUMENTS}?name={quote(path.name, safe='')}"
        return await self._asked("POST", address, data=_pieces(path, size, progress), headers=headers)

    async def remove(self, document_id: str) -> None:
        """Remove one document by its id. Raises `LibraryProblem`."""
        await self._asked("DELETE", f"{_DOCUMENTS}/{quote(document_id, safe='')}")

    async def reimport(self, document_id: str) -> dict[str, Any]:
        """Read a document's file again. Returns ``{status, document}``. Raises `LibraryProblem`."""
        return await self._asked("POST", f"{_DOCUMENTS}/{quote(document_id, safe='')}/reimport")

    async def retry(self, file_id: str) -> dict[str, Any]:
        """Try a refused file again. Returns ``{status, document}``. Raises `LibraryProblem`."""
        return await self._asked("POST", f"{_QUARANTINE}/{quote(file_id, safe='')}/retry")

    async def dismiss(self, file_id: str) -> None:
        """Forget a refused file. Raises `LibraryProblem`."""
        await self._asked("DELETE", f"{_QUARANTINE}/{quote(file_id, safe='')}")

    async def _asked(
        self, method: str, path: str, *, data: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        try:
            async with (
                aiohttp.ClientSession(self._base, headers={**self._headers, **(headers or {})}) as http,
                http.request(method, path, data=data) as response,
            ):
                body = await response.json() if response.content_type == "application/json" else {}
                if response.ok:
                    return body if isinstance(body, dict) else {}
                raise LibraryProblem(_sentence(response.status, body))
        except (aiohttp.ClientError, OSError) as error:
            raise LibraryProblem("The gateway cannot be reached. Nothing was changed.") from error


def _size_of(path: Path) -> int:
    try:
        if not path.is_file():
            raise LibraryProblem(f"{path} is not a file. Give the path of a document.")
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        problem = (error.strerror or "unreadable").lower()
        raise LibraryProblem(f"{path} cannot be read ({problem}). Check its permissions.") from error


async def _pieces(path: Path, size: int, progress: Callable[[float], None]) -> AsyncIterator[bytes]:
    sent = 0
    with open(path, "rb") as file:  # noqa: ASYNC230, PTH123 - one piece of a local file at a time
        while piece := file.read(_PIECE_BYTES):
            yield piece
            sent += len(piece)
            progress(sent / size)


def _sentence(status: int, body: dict[str, Any]) -> str:
    told = (body.get("error") or {}).get("message")
    if told:
        return str(told)
    if status == 404:
        return "This gateway has no library to manage; its documents are managed elsewhere."
    return "The gateway does not accept the token." if status in (401, 403) else f"The gateway refused it ({status})."


__all__ = ["LibraryClient", "LibraryProblem"]
