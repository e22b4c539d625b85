"""Files and web pages become documents, page by page, and only from where they may come."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from knowledge_service import ExecutionContext, KnowledgeDocument, KnowledgeService, source_from
from knowledge_service.file_reader import FileReader, LocalFileStore, html_text
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.page_reader import PageReader, is_public

READER = ExecutionContext(user_id="ada", permissions=frozenset({"handbook:read"}))


def service(reader: Any, content: dict[str, Any], **more: Any) -> KnowledgeService:
    made = KnowledgeService(readers={content["kind"]: reader})
    made.register_adapter("memory", MemoryIndex())
    made.register_source(source_from({"id": "pages", "label": "Pages", "adapter": "memory", "source": content}), **more)
    return made


async def titles(made: KnowledgeService, query: str, caller: ExecutionContext = READER) -> list[str]:
    return [hit.title for hit in (await made.search(query, execution_context=caller)).hits]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "handbook").mkdir(parents=True)
    (root / "handbook/holidays.md").write_text("# Holidays\n\nThirty days of holidays.")
    (root / "handbook/page.html").write_text("<html><style>x{}</style><body><p>Parental leave</p><script>no()</script>")
    (root / "handbook/picture.png").write_bytes(b"\x89PNG")
    (root / "handbook/broken.txt").write_bytes(b"\xff\xfe\xff")
    (root / "other.md").write_text("holidays elsewhere")
    return root


async def test_files_under_the_prefix_are_indexed_and_gone_files_removed(folder: Path) -> None:
    """What cannot be read is counted, neither indexed nor removed."""
    made = service(FileReader(LocalFileStore(folder)), {"kind": "file", "prefix": "handbook/"})
    done = await made.reindex_source("pages")
    assert (done.discovered, done.added, done.unreadable, done.complete) == (4, 2, 2, True)
    assert await titles(made, "holidays") == ["holidays"]
    assert await titles(made, "parental leave") == ["page"]
    (folder / "handbook/holidays.md").unlink()
    assert (await made.reindex_source("pages")).removed == 1
    assert await titles(made, "holidays") == []


async def test_only_the_wanted_types_are_read(folder: Path) -> None:
    """mimeTypes restricts, and leaving it out takes all."""
    content = {"kind": "file", "prefix": "", "mimeTypes": ["text/markdown"]}
    made = service(FileReader(LocalFileStore(folder)), content)
    assert (await made.reindex_source("pages")).discovered == 2


async def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """A file store is no way to the rest of the machine."""
    (tmp_path / "secret.md").write_text("the secret")
    (folder / "handbook/link.md").symlink_to(tmp_path / "secret.md")
    assert "handbook/link.md" not in await LocalFileStore(folder).keys("")


async def test_a_document_is_shown_only_to_holders_of_its_permissions(folder: Path) -> None:
    """The rule given at registration decides at index time; nobody and strangers see nothing."""

    def rule(document: KnowledgeDocument) -> list[str] | None:
        return ["handbook:read", "role:hr"] if document.title == "holidays" else []

    made = service(FileReader(LocalFileStore(folder)), {"kind": "file", "prefix": "handbook/"}, permissions=rule)
    await made.reindex_source("pages")
    assert await titles(made, "holidays") == ["holidays"]
    assert await titles(made, "holidays", ExecutionContext(user_id="eve", roles=frozenset({"hr"}))) == ["holidays"]
    assert await titles(made, "holidays", ExecutionContext(user_id="eve")) == []
    assert await titles(made, "holidays", ExecutionContext()) == []
    assert await titles(made, "parental leave") == []


@pytest.fixture
async def site() -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/moved":
            raise web.HTTPFound("/page")
        if request.path == "/loop":
            raise web.HTTPFound("/loop")
        if request.path == "/page":
            return web.Response(text="<title>Refunds</title><p>Refunds take five days", content_type="text/html")
        return web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_the_listed_pages_are_indexed_and_broken_ones_skipped(site: str) -> None:
    """One page that fails costs only itself; a found page carries its address for a citation."""
    reader = PageReader(allow_private=True)
    made = service(reader, {"kind": "http", "urls": [f"{site}/moved", f"{site}/gone", f"{site}/loop"]})
    done = await made.reindex_source("pages")
    assert (done.added, done.unreadable) == (1, 2)
    (hit,) = (await made.search("refunds", execution_context=READER)).hits
    assert (hit.title, hit.uri) == ("Refunds", f"{site}/moved")
    await reader.close()


async def test_a_private_address_is_not_fetched(site: str) -> None:
    """A source's declaration is no way into the host's network; the server never hears of it."""
    reader = PageReader()
    made = service(reader, {"kind": "http", "urls": [f"{site}/page"]})
    assert (await made.reindex_source("pages")).unreadable == 1
    await reader.close()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("::1", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:0a00:0001::1", False),
        ("ff02::1", False),
    ],
)
def test_private_addresses_are_told_in_every_form(address: str, public: bool) -> None:
    """Mapped, translated and tunnelled forms of a private address are private."""
    assert is_public(address) is public


def test_a_page_is_read_as_a_person_reads_it() -> None:
    """No scripts and no styles."""
    page = b"<body><h1>Title</h1><script>evil()</script><p>Text &amp; more</p><style>p{}</style></body>"
    assert html_text(page) == "Title\nText & more"
