"""An index in RAGFlow, from version 0.20 on. ``adapterConfig`` of a source names its dataset:

    adapterConfig: {datasetId: 2f1c..., similarityThreshold: 0.1, vectorSimilarityWeight: 0.3, rerankId: ...}

One document is one file of the dataset, parsed by RAGFlow as the dataset says. A new state is uploaded and parsed
before the old one is removed, so a search finds one of the two, and a crash in between is mended by the next write.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..adapter import AdapterContext, AdapterHealth, AdapterSearch
from ..documents import IndexHit, KnowledgeDocument
from ..errors import DocumentRefused, IndexFailed, InvalidSource
from ..sources import KnowledgeSource
from .ragflow_client import RagflowClient, RagflowRefused
from .ragflow_names import MAX_NAME_BYTES, name_of, our_name, prefix_of

_LIST_PAGE = 100
_FIRST_PAGE, _SEARCH_PAGE = 10, 64
_CANDIDATES = 1024
_DONE, _FAILED, _IDLE = frozenset({"DONE", "3"}), frozenset({"FAIL", "4", "CANCEL", "2"}), frozenset({"UNSTART", "0"})
_DELETE_TRIES = 3
_CONFIG = {
    "similarityThreshold": "similarity_threshold",
    "vectorSimilarityWeight": "vector_similarity_weight",
    "rerankId": "rerank_id",
}


@dataclass(frozen=True, slots=True)
class _File:
    id: str
    name: str
    run: str


class RagflowIndex:
    """Holds documents in RAGFlow datasets.

    ``parse_seconds`` bounds the wait for RAGFlow's parser within one write; a write that ran out of it is repeated and
    goes on with the file that is already there.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        client: Any = None,
        timeout_seconds: float = 30.0,
        parse_seconds: float = 120.0,
        poll_seconds: float = 1.0,
        name: str = "ragflow",
    ) -> None:
        self._client = RagflowClient(base_url, api_key, name=name, timeout_seconds=timeout_seconds, client=client)
        self._parse_seconds = parse_seconds
        self._poll_seconds = poll_seconds
        self._name = name

    def place_of(self, source: KnowledgeSource) -> str:
        return _dataset(source)

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        dataset = _dataset(context.source)
        kept: set[str] = set()
        old: list[str] = []
        for document in documents:
            files = await self._files(dataset, prefix_of(context.source.id, document.id))
            current = await self._current(dataset, document, files)
            kept |= {current} if current else set()
            old += [file.id for file in files if file.id != current]
        await self._parsed(dataset, kept)
        await self._delete(dataset, old)

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        if not query.strip():
            return []
        found: list[IndexHit] = []
        size = min(max(options.limit, _FIRST_PAGE), _SEARCH_PAGE)
        for page in range(1, math.ceil(options.limit / size) + 1):
            chunks = await self._retrieve(query, options, page, size)
            found += [hit for chunk in chunks if (hit := _hit(chunk, options.source)) is not None]
            if len(chunks) < size:
                break
        return found[: options.limit]

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        dataset = _dataset(context.source)
        for document_id in document_ids:
            for _ in range(_DELETE_TRIES):
                files = await self._files(dataset, prefix_of(context.source.id, document_id))
                if not files:
                    break
                await self._delete(dataset, [file.id for file in files])
            else:
                raise IndexFailed(self._name, "still holds a document after deleting it")

    async def list_document_ids(self, source: KnowledgeSource, *, after: str = "", limit: int = 500) -> list[str]:
        files = await self._files(_dataset(source), prefix_of(source.id))
        ids = {name.document_id for file in files if (name := our_name(file.name)) is not None}
        return sorted(one for one in ids if one > after)[:limit]

    async def health_check(self) -> AdapterHealth:
        try:
            await self._client.call("GET", "/datasets", params={"page": 1, "page_size": 1})
        except IndexFailed as error:
            return AdapterHealth(ok=False, message=error.problem)
        return AdapterHealth(ok=True)

    async def close(self) -> None:
        await self._client.close()

    async def _current(self, dataset: str, document: KnowledgeDocument, files: Sequence[_File]) -> str | None:
        """The file that holds this very state: one that is there, or a new one. None for a document without text."""
        text = _text(document)
        if not text:
            return None
        wanted = document.content_hash()[:12]
        for file in files:
            name = our_name(file.name)
            if name is not None and name.content_hash == wanted and file.run not in _FAILED:
                return file.id
        return await self._upload(dataset, name_of(document), text)

    async def _upload(self, dataset: str, name: str, text: str) -> str:
        if len(name.encode()) > MAX_NAME_BYTES:
            raise DocumentRefused(self._name, f"takes no document id that makes a name of over {MAX_NAME_BYTES} bytes")
        data = await self._client.call(
            "POST", f"/datasets/{dataset}/documents", files={"file": (name, text.encode(), "text/markdown")}
        )
        stored = data[0] if isinstance(data, list) and data else data
        if not isinstance(stored, dict) or not isinstance(stored.get("id"), str):
            raise IndexFailed(self._name, "took a file and did not say under which id")
        return str(stored["id"])

    async def _parsed(self, dataset: str, ids: set[str]) -> None:
        """Wait until RAGFlow has cut and embedded these files: before that no search finds them."""
        try:
            async with asyncio.timeout(self._parse_seconds):
                waiting = set(ids)
                while waiting:
                    states = {one: await self._state(dataset, one) for one in waiting}
                    await self._judge(dataset, states)
                    waiting = {one for one, state in states.items() if state not in _DONE}
                    if waiting:
                        await asyncio.sleep(self._poll_seconds)
        except TimeoutError as error:
            raise IndexFailed(self._name, f"did not parse a document within {self._parse_seconds:g} s") from error

    async def _judge(self, dataset: str, states: Mapping[str, str]) -> None:
        if failed := [one for one, state in states.items() if state in _FAILED]:
            await self._delete(dataset, failed)
            raise DocumentRefused(self._name, "cannot parse a document")
        if idle := [one for one, state in states.items() if state in _IDLE]:
            await self._client.call("POST", f"/datasets/{dataset}/chunks", json={"document_ids": idle})

    async def _state(self, dataset: str, file_id: str) -> str:
        data = await self._client.call("GET", f"/datasets/{dataset}/documents", params={"id": file_id})
        files = self._listed(data)
        if not files:
            raise IndexFailed(self._name, "lost a file while parsing it")
        return files[0].run

    async def _files(self, dataset: str, prefix: str) -> list[_File]:
        """Our files whose names begin so. RAGFlow only finds names that hold a text, whatever its case."""
        found: list[_File] = []
        for page in range(1, 1_000_000):
            asked = {
                "keywords": prefix,
                "page": page,
                "page_size": _LIST_PAGE,
                "orderby": "create_time",
                "desc": "false",
            }
            data = await self._client.call("GET", f"/datasets/{dataset}/documents", params=asked)
            files = self._listed(data)
            found += [file for file in files if file.name.startswith(prefix) and our_name(file.name) is not None]
            if len(files) < _LIST_PAGE:
                break
        return found

    def _listed(self, data: Any) -> list[_File]:
        docs = data.get("docs") if isinstance(data, dict) else None
        if not isinstance(docs, list):
            raise IndexFailed(self._name, "answered without a list of documents")
        return [_File(str(one["id"]), str(one["name"]), str(one.get("run", "UNSTART"))) for one in docs]

    async def _delete(self, dataset: str, ids: Sequence[str]) -> None:
        # Versions up to 0.24 take an empty list for "all of the dataset".
        if not ids:
            return
        try:
            await self._client.call("DELETE", f"/datasets/{dataset}/documents", json={"ids": list(ids)})
        except RagflowRefused:
            # One unknown id makes it refuse, or stop at, the whole list; one by one each is gone or named.
            for one in ids:
                await self._delete_one(dataset, one)

    async def _delete_one(self, dataset: str, file_id: str) -> None:
        try:
            await self._client.call("DELETE", f"/datasets/{dataset}/documents", json={"ids": [file_id]})
        except RagflowRefused:
            if await self._exists(dataset, file_id):
                raise

    async def _exists(self, dataset: str, file_id: str) -> bool:
        try:
            return bool(
                self._listed(await self._client.call("GET", f"/datasets/{dataset}/documents", params={"id": file_id}))
            )
        except RagflowRefused:
            return False

    async def _retrieve(self, query: str, options: AdapterSearch, page: int, size: int) -> list[Mapping[str, Any]]:
        """One page of passages. ``keyword`` costs a model call and filters cannot be relied on: neither is sent."""
        config = options.source.adapter_config
        asked = {
            "question": query,
            "dataset_ids": [_dataset(options.source)],
            "page": page,
            "page_size": size,
            "top_k": _CANDIDATES,
            "similarity_threshold": 0.0,
            **{field: config[key] for key, field in _CONFIG.items() if key in config},
        }
        try:
            data = await self._client.call("POST", "/retrieval", json=asked)
        except RagflowRefused:
            # Newer versions refuse pages beyond their candidates, and say so when a dataset has no passage at all.
            if page > 1:
                return []
            return await self._nothing_or_raise(_dataset(options.source))
        chunks = data.get("chunks") if isinstance(data, dict) else None
        if not isinstance(chunks, list):
            raise IndexFailed(self._name, "answered without a list of passages")
        return [chunk for chunk in chunks if isinstance(chunk, dict)]

    async def _nothing_or_raise(self, dataset: str) -> list[Mapping[str, Any]]:
        """An empty dataset answers a search with an error; a dataset that is not ours answers everything with one."""
        if any(file.run in _DONE for file in await self._files(dataset, "")):
            raise IndexFailed(self._name, "declined a search")
        return []


def _dataset(source: KnowledgeSource) -> str:
    dataset = source.adapter_config.get("datasetId")
    if not isinstance(dataset, str) or not dataset.strip():
        raise InvalidSource(source.id, "needs adapterConfig.datasetId, the id of its RAGFlow dataset.")
    return dataset


def _text(document: KnowledgeDocument) -> str:
    content = document.content.strip()
    if not content or document.title in content:
        return content
    return f"# {document.title}\n\n{content}"


def _hit(chunk: Mapping[str, Any], source: KnowledgeSource) -> IndexHit | None:
    name = our_name(chunk.get("document_keyword"))
    score = chunk.get("similarity")
    if name is None or name.source_id != source.id:
        return None
    return IndexHit(
        document_id=name.document_id,
        chunk_id=str(chunk.get("id") or f"{name.document_id}#{name.content_hash}"),
        score=float(score) if isinstance(score, int | float) else 0.0,
        snippet=str(chunk.get("content") or ""),
        source_record_id=source.record_id(name.document_id) if source.object_content() else None,
    )


__all__ = ["RagflowIndex"]
