"""A document that says where it is published is cited with that page; one that does not has its locator."""

import asyncio
from pathlib import Path

import pytest

from knowledge_provider import KnowledgeResult, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.provider import View

MARKDOWN = b"---\ntitle: Releases\nurl: https://handbook.example.com/releases\n---\n\n# Approvals\n\nTwo reviewers.\n"
PAGE = (
    b"<html><head><title>Releases</title><link rel='canonical' href='https://handbook.example.com/releases'></head>"
    b"<body><h1>Approvals</h1><p>Two reviewers.</p></body></html>"
)
PLAIN = b"# Approvals\n\nTwo reviewers.\n"


async def found(folder: Path, name: str, content: bytes, view: View) -> KnowledgeResult:
    (folder / name).write_bytes(content)
    with DomainLibrary(folder / "store") as library:
        await asyncio.to_thread(library.import_file, folder / name)
        provider = LocalDomainKnowledgeProvider(library, view=view)
        try:
            request, context = RetrievalRequest(query="reviewers"), RetrievalContext(owner_id="personal")
            async with asyncio.timeout(20):
                (result,) = await provider.retrieve(request, context)
        finally:
            await provider.close()
    return result


@pytest.mark.parametrize("view", ["passages", "outline"])
@pytest.mark.parametrize(("name", "content"), [("a.md", MARKDOWN), ("a.html", PAGE)], ids=["markdown", "html"])
async def test_the_published_page_is_the_uri(tmp_path: Path, name: str, content: bytes, view: View) -> None:
    """Front matter ``url`` and the canonical link become the source's uri, beside the locator of the file."""
    result = await found(tmp_path, name, content, view)
    assert result.source.uri == "https://handbook.example.com/releases"
    assert result.source.locator is not None
    assert result.source.locator.startswith(str(tmp_path / name))


@pytest.mark.parametrize("view", ["passages", "outline"])
async def test_a_path_is_no_uri(tmp_path: Path, view: View) -> None:
    """A local path is a private address: it stays a locator."""
    result = await found(tmp_path, "a.md", PLAIN, view)
    assert result.source.uri is None
