"""An index in a local library: any object with the methods of `Library`, such as ``local_library.DomainLibrary``.

Each source is an owner of its own in that library, so a library that also holds people's documents mixes with nothing.
"""

import asyncio
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..adapter import AdapterContext, AdapterHealth, AdapterSearch
from ..documents import IndexHit, KnowledgeDocument
from ..errors import DocumentRefused, IndexFailed
from ..sources import KnowledgeSource

_T = TypeVar("_T")
_SUFFIX = ".md"
FLOOR = 0.3


class Library(Protocol):
    """What is asked of a library: synchronous methods that may be called from any thread."""

    def import_bytes(self, path: str, content: bytes, *, owner_id: str) -> Any: ...
    def list(self, *, owner_id: str) -> Sequence[Any]: ...
    def remove(self, document: str, *, owner_id: str) -> Any: ...
    def search(self, query: str, *, owner_id: str, limit: int, per_document: int) -> Sequence[Any]: ...
    def size(self, *, owner_id: str) -> int: ...


class LibraryIndex:
    """Writes and searches a library in threads of its own; the library stays the host's to open and to close.

    Open it as `open_library_index` does: what it leaves out for being irrelevant or alike, no caller is ever shown.
    """

    def __init__(self, library: Library, *, threads: int = 2, name: str = "library") -> None:
        self._library = library
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="knowledge-library")
        self._name = name

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        for document in documents:
            await self._run(self._write, _owner(context.source), document)

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        found = await self._run(self._search, query, _owner(options.source), options.limit)
        return [_hit(one, options.source) for one in found]

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        for document_id in document_ids:
            await self._run(self._remove, _owner(context.source), document_id)

    async def list_document_ids(self, source: KnowledgeSource, *, after: str = "", limit: int = 500) -> list[str]:
        held = await self._run(self._list, _owner(source))
        return sorted(one for one in held if one > after)[:limit]

    async def health_check(self) -> AdapterHealth:
        try:
            await self._run(self._size)
        except IndexFailed as error:
            return AdapterHealth(ok=False, message=error.problem)
        return AdapterHealth(ok=True)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        except Exception as error:
            # A library's errors are told by their stable code, so that this file needs none of its classes.
            if getattr(error, "code", "") == "library_document_rejected":
                raise DocumentRefused(self._name, "cannot hold a document") from error
            raise IndexFailed(self._name, "does not answer") from error

    def _write(self, owner: str, document: KnowledgeDocument) -> None:
        text = document.content.replace("\0", " ").strip()
        if not text:
            self._remove(owner, document.id)
            return
        titled = text if document.title in text else f"# {document.title}\n\n{text}"
        self._library.import_bytes(document.id + _SUFFIX, titled.encode(), owner_id=owner)

    def _remove(self, owner: str, document_id: str) -> None:
        try:
            self._library.remove(document_id + _SUFFIX, owner_id=owner)
        except Exception as error:
            if getattr(error, "code", "") != "library_document_not_found":
                raise

    def _search(self, query: str, owner: str, limit: int) -> Sequence[Any]:
        return self._library.search(query, owner_id=owner, limit=limit, per_document=limit)

    def _list(self, owner: str) -> list[str]:
        return [one.path.removesuffix(_SUFFIX) for one in self._library.list(owner_id=owner)]

    def _size(self) -> int:
        return self._library.size(owner_id="source:health")


class _OwnLibraryIndex(LibraryIndex):
    async def close(self) -> None:
        await super().close()
        self._library.close()  # type: ignore[attr-defined]


def open_library_index(store: Path) -> LibraryIndex:
    """An index in a library of its own below ``store``, which is closed with it. Needs the package
    ``local_library``.
    """
    # By name, since the two packages do not know each other: only this call, in a host that wants it, joins them.
    # A lower floor than a library has for people, and nothing left out for being alike: the better match, or the one of
    # two equal texts that would be kept, may be one that the caller may not read.
    library = importlib.import_module("local_library").DomainLibrary(store, floor=FLOOR, keep_alike=True)
    return _OwnLibraryIndex(library)


def _owner(source: KnowledgeSource) -> str:
    return f"source:{source.id}"


def _hit(found: Any, source: KnowledgeSource) -> IndexHit:
    document_id = str(found.passage.path).removesuffix(_SUFFIX)
    return IndexHit(
        document_id=document_id,
        chunk_id=f"{document_id}#{found.passage.passage_id}",
        score=float(found.score),
        snippet=found.text,
        source_record_id=source.record_id(document_id) if source.object_content() else None,
    )


__all__ = ["Library", "LibraryIndex", "open_library_index"]
