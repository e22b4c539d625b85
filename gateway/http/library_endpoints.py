"""``/v1/library``: the documents of whoever asks. For people and programs; the model has no way to it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from .access import Access
from .library_summary import document_summary, headings_of, quarantined_summary
from .uploads import MAX_UPLOAD_BYTES, RejectedUpload, UploadFolder

_MOST_AT_ONCE = 200
_MOST_CHARACTERS = 100_000
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

    def browse(self, words: str, *, owner_id: str, offset: int, limit: int) -> Any: ...

    def status(self, document: Any) -> Any: ...

    def show(self, document: str, *, owner_id: str) -> Any: ...

    def read(self, locator: str, *, owner_id: str, limit_characters: int) -> Any: ...

    def remove(self, document: str, *, owner_id: str) -> Any: ...

    def reimport(self, document: str, *, owner_id: str) -> Any: ...

    def quarantined(self, *, owner_id: str) -> Sequence[Any]: ...

    def retry(self, file: str, *, owner_id: str) -> Any: ...

    def dismiss(self, file: str, *, owner_id: str) -> None: ...

    def verify(self, *, owner_id: str) -> Sequence[Any]: ...

    def rebuild_index(self, *, owner_id: str) -> None: ...


class LibraryEndpoints:
    """Everything a person does with documents. The owner comes from authentication; no request can name one.

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
        router.add_get("/v1/library/documents/{document}/text", self._answered(self._text))
        router.add_delete("/v1/library/documents/{document}", self._answered(self._remove))
        router.add_post("/v1/library/documents/{document}/reimport", self._answered(self._reimport))
        router.add_post("/v1/library/quarantine/{file}/retry", self._answered(self._retry))
        router.add_delete("/v1/library/quarantine/{file}", self._answered(self._dismiss))
        router.add_post("/v1/library/verify", self._answered(self._verify))
        router.add_post("/v1/library/rebuild-index", self._answered(self._rebuild_index))

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
        offset, limit = _asked_part(request.query)
        words = request.query.get("words", "")
        body = await asyncio.to_thread(self._listed, owner, words, offset, limit)
        return web.json_response({**body, "importing": self._uploads.under_way(owner)})

    def _listed(self, owner: str, words: str, offset: int, limit: int | None) -> dict[str, Any]:
        if limit is None and not words:
            documents = self._library.list(owner_id=owner)
            matching = total = len(documents)
        else:
            page = self._library.browse(words, owner_id=owner, offset=offset, limit=limit or _MOST_AT_ONCE)
            documents, matching, total = page.documents, page.matching, page.total
        return {
            "documents": [self._summary(document, owner) for document in documents],
            "matching": matching,
            "total": total,
            "quarantined": [quarantined_summary(file) for file in self._library.quarantined(owner_id=owner)],
            "maxUploadBytes": self._uploads.max_bytes,
        }

    async def _show(self, request: web.Request, owner: str) -> web.Response:
        document = await asyncio.to_thread(self._library.show, request.match_info["document"], owner_id=owner)
        summary = await asyncio.to_thread(self._summary, document, owner)
        return web.json_response({**summary, "headings": headings_of(document)})

    async def _text(self, request: web.Request, owner: str) -> web.Response:
        document = await asyncio.to_thread(self._library.show, request.match_info["document"], owner_id=owner)
        place = request.query.get("locator", "")
        text = await asyncio.to_thread(
            self._library.read, f"{document.document_id}{place}", owner_id=owner, limit_characters=_MOST_CHARACTERS
        )
        return web.json_response(
            {"title": text.title, "locator": place, "text": text.text, "truncated": text.truncated}
        )

    async def _verify(self, request: web.Request, owner: str) -> web.Response:
        found = await asyncio.to_thread(self._library.verify, owner_id=owner)
        problems = [{"kind": one.kind, "document": one.document_id, "sentence": one.sentence} for one in found]
        return web.json_response({"problems": problems})

    async def _rebuild_index(self, request: web.Request, owner: str) -> web.Response:
        await asyncio.to_thread(self._library.rebuild_index, owner_id=owner)
        self._changed(owner)
        return web.Response(status=204)

    async def _upload(self, request: web.Request, owner: str) -> web.Response:
        # A type that no form can send: the browser asks first, so that a foreign page cannot upload.
        if request.content_type != "application/octet-stream":
            raise RejectedUpload("upload_type", "Send the file as application/octet-stream.", status=415)
        length = request.content_length
        async with self._uploads.incoming(owner, request.query.get("name", ""), length) as upload:
            async for piece in request.content.iter_chunked(2**18):
                await upload.write(piece)
            outcome = await upload.kept(lambda path: self._library.import_file(path, owner_id=owner))
        return await self._imported(outcome, owner)

    async def _reimport(self, request: web.Request, owner: str) -> web.Response:
        outcome = await asyncio.to_thread(self._library.reimport, request.match_info["document"], owner_id=owner)
        return await self._imported(outcome, owner)

    async def _retry(self, request: web.Request, owner: str) -> web.Response:
        outcome = await asyncio.to_thread(self._library.retry, request.match_info["file"], owner_id=owner)
        return await self._imported(outcome, owner)

    async def _dismiss(self, request: web.Request, owner: str) -> web.Response:
        await asyncio.to_thread(self._library.dismiss, request.match_info["file"], owner_id=owner)
        return web.Response(status=204)

    async def _imported(self, outcome: Any, owner: str) -> web.Response:
        self._changed(owner)
        document = await asyncio.to_thread(self._library.show, outcome.document_id, owner_id=owner)
        summary = await asyncio.to_thread(self._summary, document, owner)
        body = {"status": str(outcome.status), "document": summary}
        return web.json_response(body, status=201 if outcome.status == "added" else 200)

    async def _remove(self, request: web.Request, owner: str) -> web.Response:
        document = await asyncio.to_thread(self._library.show, request.match_info["document"], owner_id=owner)
        await asyncio.to_thread(self._library.remove, document.document_id, owner_id=owner)
        self._changed(owner)
        await self._uploads.forget(owner, Path(document.path))
        return web.Response(status=204)

    def _summary(self, document: Any, owner: str) -> dict[str, Any]:
        uploaded = self._uploads.holds(owner, Path(document.path))
        return document_summary(document, self._library.status(document), uploaded=uploaded)


def _asked_part(query: Mapping[str, str]) -> tuple[int, int | None]:
    """Where to begin and how many to send; all where nobody asks for a part."""
    if "offset" not in query and "limit" not in query:
        return 0, None
    try:
        offset, limit = int(query.get("offset", "0")), int(query.get("limit", _MOST_AT_ONCE))
    except ValueError:
        offset = limit = -1
    if offset < 0 or not 1 <= limit <= _MOST_AT_ONCE:
        sentence = f"offset must be a number from 0 on, and limit one from 1 to {_MOST_AT_ONCE}."
        raise RejectedUpload("library_part", sentence, status=400)
    return offset, limit


def _public_sentence(error: Exception) -> str:
    """A sentence of the library without the place of its files on this machine."""
    store = getattr(error, "store", None)
    return str(error).replace(str(store), "this gateway") if store else str(error)


def _refusal(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)


__all__ = ["Library", "LibraryEndpoints"]
