"""RAGFlow's HTTP interface on loopback, with what each version does differently, read from its public source.

It keeps files and passages in memory, "parses" them over a few polls, and ranks by shared words.
"""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from knowledge_service.indexes.tokens import tokens
from knowledge_service.passages import passages

VERSIONS = ("0.20.5", "0.24.0", "0.25.2", "0.27.0")
KEY = "key"


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@dataclass
class File:
    id: str
    name: str
    text: str
    run: str = "UNSTART"
    polls: int = 0
    chunks: list[str] = field(default_factory=list)


@dataclass
class RagflowServer:
    """``ghosts`` are passages of deleted files that a version still returns for some searches."""

    version: str = VERSIONS[-1]
    polls_to_parse: int = 2
    fail_parsing: str = ""
    deleted_seen_for: int = 0
    answer: tuple[int, Any, dict[str, str]] | None = None
    datasets: dict[str, dict[str, File]] = field(default_factory=dict)
    ghosts: list[tuple[str, File, int]] = field(default_factory=list)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    url: str = ""

    def is_at_least(self, version: str) -> bool:
        return _number(self.version) >= _number(version)

    def files(self, dataset: str) -> dict[str, File]:
        return self.datasets.setdefault(dataset, {})

    async def start(self) -> None:
        app = web.Application(middlewares=[self._around])
        documents = "/api/v1/datasets/{dataset}/documents"
        app.router.add_get("/api/v1/datasets", self._list_datasets)
        app.router.add_get(documents, self._list)
        app.router.add_post(documents, self._upload)
        app.router.add_delete(documents, self._delete)
        app.router.add_post("/api/v1/datasets/{dataset}/chunks", self._parse)
        app.router.add_post("/api/v1/retrieval", self._retrieve)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    @web.middleware
    async def _around(self, request: web.Request, handler: Any) -> web.StreamResponse:
        body = await request.json() if request.content_type == "application/json" and request.can_read_body else None
        self.requests.append((request.method, request.path, body))
        if self.answer is not None:
            status, answer, headers = self.answer
            if isinstance(answer, str):
                return web.Response(status=status, text=answer, headers=headers, content_type="text/html")
            return web.json_response(answer, status=status, headers=headers)
        if (refused := self._unauthorized(request)) is not None:
            return refused
        try:
            answered: web.StreamResponse = await handler(request)
        except web.HTTPNotFound:
            return web.json_response({"code": 404, "message": "Not Found"}, status=200)
        return answered

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization", "")
        if given == f"Bearer {KEY}":
            return None
        if self.is_at_least("0.26.0"):
            return web.json_response({"code": 401, "message": "Unauthorized"}, status=401)
        if self.is_at_least("0.25.0"):
            return web.json_response({"code": 109, "message": "Unauthorized"}, status=401)
        if not given.startswith("Bearer "):
            return web.json_response({"code": 0, "data": False, "message": "`Authorization` can't be empty"})
        return web.json_response({"code": 109, "data": False, "message": "Authentication error: API key is invalid!"})

    async def _list_datasets(self, request: web.Request) -> web.Response:
        return _ok([{"id": name} for name in self.datasets])

    async def _list(self, request: web.Request) -> web.Response:
        files = self.files(request.match_info["dataset"])
        page, size = int(request.query.get("page", 1)), int(request.query.get("page_size", 30))
        if size > 100:
            return _refused(101, "page_size must not be over 100")
        wanted = request.query.get("id")
        if wanted and wanted not in files:
            return _refused(102, f"You don't own the document {wanted}.")
        keywords = request.query.get("keywords", "").lower()
        found = [one for one in files.values() if keywords in one.name.lower() and wanted in (None, one.id)]
        for one in found if wanted else []:
            self._go_on(one)
        docs = [{"id": one.id, "name": one.name, "run": one.run} for one in found[(page - 1) * size : page * size]]
        return _ok({"docs": docs, "total": len(found)})

    def _go_on(self, file: File) -> None:
        if file.run != "RUNNING":
            return
        file.polls += 1
        if file.polls >= self.polls_to_parse:
            failed = self.fail_parsing and self.fail_parsing in file.text
            file.run = "FAIL" if failed else "DONE"
            file.chunks = [] if failed else passages(file.text, 300)

    async def _upload(self, request: web.Request) -> web.Response:
        files = self.files(request.match_info["dataset"])
        if not request.content_type.startswith("multipart/"):
            return _refused(101, "No file part!")
        part = (await request.post()).get("file")
        if not isinstance(part, web.FileField):
            return _refused(101, "No file part!")
        if len(part.filename.encode()) > 255:
            return _refused(101, "File name must be 255 bytes or less.")
        with part.file as upload:
            text = upload.read().decode()
        file = File(uuid.uuid4().hex, self._free_name(files, part.filename), text)
        files[file.id] = file
        return _ok([{"id": file.id, "name": file.name, "run": "UNSTART"}])

    def _free_name(self, files: dict[str, File], name: str) -> str:
        taken = {file.name for file in files.values()}
        stem, suffix = name.rsplit(".", 1)
        number = 0
        while name in taken:
            number += 1
            name = f"{stem}({number}).{suffix}"
        return name

    async def _delete(self, request: web.Request) -> web.Response:
        files = self.files(request.match_info["dataset"])
        ids = (await request.json()).get("ids") or []
        if not ids:
            if self.is_at_least("0.25.2"):
                return _refused(102, "should either provide doc ids or set delete_all(true)")
            files.clear()
            return _ok(None)
        if self.is_at_least("0.27.0") and not set(ids) <= files.keys():
            return _refused(102, "Document not found")
        for one in ids:
            if one not in files:
                return _refused(102, f"Document not found: {one}")
            self.ghosts.append((request.match_info["dataset"], files.pop(one), self.deleted_seen_for))
        return _ok({"deleted": len(ids)} if self.is_at_least("0.27.0") else None)

    async def _parse(self, request: web.Request) -> web.Response:
        files = self.files(request.match_info["dataset"])
        ids = (await request.json()).get("document_ids")
        if not ids:
            return _refused(102, "`document_ids` is required")
        if not set(ids) <= files.keys():
            return _refused(102, "Documents not found")
        for one in ids:
            if files[one].run == "RUNNING":
                return _refused(102, "Can't parse document that is currently being processed")
            files[one].run, files[one].polls, files[one].chunks = "RUNNING", 0, []
        return _ok(None)

    async def _retrieve(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if not asked.get("dataset_ids"):
            return _refused(102, "`dataset_ids` is required.")
        page, size = asked.get("page", 1), asked.get("page_size", 30)
        if size > 100:
            return _refused(101, "page_size must not be over 100")
        if self.is_at_least("0.27.0") and page * size > 64 and "rerank_candidates_count" not in asked:
            return _refused(101, "page * page_size must not be over 64")
        if asked.get("keyword"):
            return _refused(100, "no chat model is set up for keyword extraction")
        flat = "metadata_condition" in asked and "conditions" not in asked["metadata_condition"]
        # A flat condition is ignored by old versions and matches nothing in newer ones.
        if flat and self.is_at_least("0.23.0"):
            return _ok({"chunks": [], "doc_aggs": {}, "total": 0})
        ranked = self._ranked(asked)
        if not ranked and not any(self.files(one) for one in asked["dataset_ids"]):
            return _refused(102, "No chunk found! Check the chunk status please!")
        if size == 1 and not self.is_at_least("0.25.0"):
            return _ok({"chunks": [], "doc_aggs": {}, "total": len(ranked)})
        return _ok({"chunks": ranked[(page - 1) * size : page * size], "doc_aggs": [], "total": len(ranked)})

    def _ranked(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        wanted = set(tokens(asked["question"]))
        found = []
        for dataset in asked["dataset_ids"]:
            files = [*self.files(dataset).values(), *self._still_seen(dataset)]
            for file in files:
                for number, chunk in enumerate(file.chunks):
                    held = tokens(chunk)
                    similarity = len(wanted & set(held)) / max(1, len(wanted)) + min(len(held), 999) / 1e6
                    if similarity >= max(asked.get("similarity_threshold", 0.2), 1 / 999):
                        found.append(
                            {
                                "id": f"{file.id}{number}",
                                "content": re.sub(r"\s+", " ", chunk),
                                "document_id": file.id,
                                "document_keyword": file.name,
                                "dataset_id": dataset,
                                "similarity": similarity,
                            }
                        )
        return sorted(found, key=lambda chunk: (-chunk["similarity"], chunk["id"]))

    def _still_seen(self, dataset: str) -> list[File]:
        seen = [file for held, file, times in self.ghosts if held == dataset and times > 0]
        self.ghosts = [(held, file, times - 1) for held, file, times in self.ghosts]
        return seen


def _ok(data: Any) -> web.Response:
    return web.json_response({"code": 0, "data": data})


def _refused(code: int, message: str) -> web.Response:
    return web.json_response({"code": code, "message": message, "data": None})
