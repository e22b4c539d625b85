"""Files as documents: every file under a source's prefix, in the order of their keys."""

import asyncio
import hashlib
import mimetypes
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from selectolax.lexbor import LexborHTMLParser

from .documents import MAX_DOCUMENT_ID_CHARACTERS, KnowledgeDocument
from .readers import Page
from .sources import FileContent, KnowledgeSource

MAX_FILE_BYTES = 20_000_000

TextOf = Callable[[bytes, str], str | None]
"""Turns the bytes of a file of this MIME type into text; `None` where it cannot."""


class FileStore(Protocol):
    """Where files lie: keys with slashes, and their bytes."""

    async def keys(self, prefix: str) -> Sequence[str]: ...
    async def read(self, key: str) -> bytes: ...


class LocalFileStore:
    """A folder of this machine. Links that lead out of it, and files that are too large, are not part of it."""

    def __init__(self, root: Path, *, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = root.resolve()
        self._max_bytes = max_bytes

    async def keys(self, prefix: str) -> Sequence[str]:
        return await asyncio.to_thread(self._keys, prefix)

    async def read(self, key: str) -> bytes:
        return await asyncio.to_thread((self._root / key).read_bytes)

    def _keys(self, prefix: str) -> list[str]:
        files = (path for path in self._root.rglob("*") if path.is_file())
        inside = (path for path in files if path.resolve().is_relative_to(self._root))
        fitting = (path for path in inside if path.stat().st_size <= self._max_bytes)
        return sorted(key for path in fitting if (key := path.relative_to(self._root).as_posix()).startswith(prefix))


class FileReader:
    """Reads plain text, Markdown and HTML; ``text_of`` adds other types. A file without a reader counts as
    unreadable.
    """

    def __init__(self, store: FileStore, *, text_of: TextOf | None = None) -> None:
        self._store = store
        self._text_of = text_of

    async def page(self, source: KnowledgeSource, *, after: str | None, limit: int) -> Page:
        content = source.source
        assert isinstance(content, FileContent)  # noqa: S101  (the service asks by kind)
        keys = [key for key in await self._store.keys(content.prefix) if _wanted(key, content)]
        start = bisect_right(keys, after) if after is not None else 0
        chosen = keys[start : start + limit]
        read = [await self._document(source, key) for key in chosen]
        return Page(
            documents=tuple(document for document in read if document is not None),
            next_after=chosen[-1] if start + limit < len(keys) else None,
            unreadable=tuple(
                document_id(source, key) for key, document in zip(chosen, read, strict=True) if document is None
            ),
        )

    async def _document(self, source: KnowledgeSource, key: str) -> KnowledgeDocument | None:
        kind = mime_type(key)
        try:
            body = await self._store.read(key)
        except OSError:
            return None
        text = self._text_of(body, kind) if self._text_of else None
        text = plain_text(body, kind) if text is None else text
        if text is None:
            return None
        return KnowledgeDocument(
            id=document_id(source, key),
            source_id=source.id,
            title=PurePosixPath(key).stem,
            content=text,
            metadata={"key": key, "mimeType": kind},
        )


def document_id(source: KnowledgeSource, key: str) -> str:
    """The document of a file or page; a long key is cut and told apart by its hash."""
    whole = f"{source.id}:{key}"
    if len(whole) <= MAX_DOCUMENT_ID_CHARACTERS:
        return whole
    mark = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{whole[: MAX_DOCUMENT_ID_CHARACTERS - 17]}~{mark}"


def mime_type(key: str) -> str:
    if key.endswith((".md", ".markdown")):
        return "text/markdown"
    return mimetypes.guess_type(key)[0] or "application/octet-stream"


def plain_text(body: bytes, kind: str) -> str | None:
    """The text of a plain, Markdown or HTML body; `None` for other types and for bytes that are not UTF-8."""
    if kind.startswith("text/html") or kind == "application/xhtml+xml":
        return html_text(body)
    if not kind.startswith("text/"):
        return None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def html_text(body: bytes) -> str:
    """What a page says to a reader: no scripts, no styles."""
    page = LexborHTMLParser(body)
    for name in ("script", "style", "noscript", "template"):
        for node in page.css(name):
            node.decompose()
    text = page.body.text(separator="\n") if page.body is not None else ""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _wanted(key: str, content: FileContent) -> bool:
    return not content.mime_types or mime_type(key) in content.mime_types


__all__ = ["FileReader", "FileStore", "LocalFileStore", "TextOf", "document_id", "html_text", "plain_text"]
