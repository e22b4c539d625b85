"""``/v1/library``: the documents of whoever asks. For people and programs; the model has no way to it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from .access import Access
from .uploads import MAX_UPLOAD_BYTES, RejectedUpload, UploadFolder

_STATUS_OF_CODE = {
    "library_document_not_found": 404,
    "library_document_rejected": 422,
    "library_full": 507,
    "library_busy": 409,
}


class Library(Protocol):
    """What the endpoints need of a library. Every method blocks, so each is called in a thread."""

    def import_file(self, path: Path | str, *, owner_id: str) -> Any: ...

    def list(self, *, owner_id: str) -> Sequence[Any]: ...

    def show(self, document: str, *, owner_id: str) -> Any: ...

    def remove(self, document: str, *, owner_id: str) -> Any: ...


class LibraryEndpoints:
    """List, show, upload and remove. The owner comes from authentication; nothing in a request can name one.

    ``changed`` is called with the owner whose documents are different now.
    """

    def __init__(
        self,
        library: Library,
        uploads: Path,
        *,
        access: Access,
        changed: Callable[[str], None] = lambda owner: None,
        max_upload_bytes: int = MAX_UPLOAD_BYTES,
    ) -> None:
        self._library = library
        self._changed = changed
        self._access = access
        self._uploads = UploadFolder(uploads, max_bytes=max_upload_bytes)

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes."""
        router.add_get("/v1/library/documents", self._answered(self._list))
        router.add_post("/v1/library/documents", self._answered(self._upload))
        router.add_get("/v1/library/documents/{document}", self._answered(self._show))
        router.add_delete("/v1/library/documents/{document}", self._answered(self._remove))

    def _answered(
        self, handle: Callable[[web.Request, str], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Authenticate first; turn what went wrong into a status and one sentence."""

        async def answer(request: web.Request) -> web.Response:
            owner = self._access.owner(request)
            try:
                return await handle(request, owner)
            except RejectedUpload as error:
                return _refusal(error.status, error.code, str(error))
            except Exception as error:
                # The library's errors are told by their code: the gateway does not import it.
                code = getattr(error, "code", None)
                if not isinstance(code, str) or not code.startswith("library_"):
                    raise
                return _refusal(_STATUS_OF_CODE.get(code, 503), code, _public_sentence(error))

        return answer

    async def _list(self, request: web.Request, owner: str) -> web.Response:
        documents = await asyncio.to_thread(self._library.list, owner_id=owner)
        body = [self._summary(document, owner) for document in documents]
        return web.json_response({"documents": body, "maxUploadBytes": self._uploads.max_bytes})

    async def _show(self, request: web.Request, owner: str) -> web.Response:
        document = await asyncio.to_thread(self._library.show, request.match_info["document"], owner_id=owner)
        # Where the file lies on this machine is nobody's business here; the place in it is.
        headings = [
            {"text": one.text, "level": one.level, "locator": one.locator.removeprefix(document.path)}
            for one in document.headings
        ]
        return web.json_response({**self._summary(document, owner), "headings": headings})

    async def _upload(self, request: web.Request, owner: str) -> web.Response:
        # A type that no form can send: the browser asks first, so that a foreign page cannot upload.
        if request.content_type != "application/octet-stream":
            raise RejectedUpload("upload_type", "Send the file as application/octet-stream.", status=415)
        length = request.content_length
        async with self._uploads.incoming(owner, request.query.get("name", ""), length) as upload:
            async for piece in request.content.iter_chunked(2**18):
                await upload.write(piece)
            outcome = await upload.kept(lambda path: self._library.import_file(path, owner_id=owner))
        self._changed(owner)
        document = await asyncio.to_thread(self._library.show, outcome.document_id, owner_id=owner)
        body = {"status": str(outcome.status), "document": self._summary(document, owner)}
        return web.json_response(body, status=201 if outcome.status == "added" else 200)

    async def _remove(self, request: web.Request, owner: str) -> web.Response:
        document = await asyncio.to_thread(self._library.show, request.match_info["document"], owner_id=owner)
        await asyncio.to_thread(self._library.remove, document.document_id, owner_id=owner)
        self._changed(owner)
        await self._uploads.forget(owner, Path(document.path))
        return web.Response(status=204)

    def _summary(self, document: Any, owner: str) -> dict[str, Any]:
        path = Path(document.path)
        return {
            "id": document.document_id,
            "title": document.title,
            "summary": document.derived_summary or document.summary,
            "name": path.name,
            "mimeType": document.media_type,
            "bytes": document.size,
            "passages": document.passages,
            "version": document.version,
            "importedAt": document.imported_at,
            "warnings": list(document.warnings),
            "uploaded": self._uploads.holds(owner, path),
        }


def _public_sentence(error: Exception) -> str:
    """A sentence of the library without the place of its files on this machine."""
    store = getattr(error, "store", None)
    return str(error).replace(str(store), "this gateway") if store else str(error)


def _refusal(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)


__all__ = ["Library", "LibraryEndpoints"]
