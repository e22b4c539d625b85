"""`McpProvider` with real MCP servers: in this process, as a child, over HTTP, and two from the package index."""

import asyncio
import os
import runpy
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from adapters.mcp import CODES, McpProvider, from_config, mcp_failure
from knowledge_provider import (
    KnowledgeResult,
    ProviderContractError,
    ProviderUnavailable,
    RetrievalError,
    RetrievalTimedOut,
    UnsupportedFilters,
)
from tests.adapters.asking import context_for, everything_about, request_for, until
from tests.adapters.loopback import Loopback

SCRIPT = Path(__file__).with_name("search_server.py")
PEERS = Path(__file__).resolve().parents[2] / ".peers"
make_server = runpy.run_path(str(SCRIPT))["make_server"]
STDIO = StdioServerParameters(command=sys.executable, args=[str(SCRIPT), "stdio"])


@asynccontextmanager
async def asked(server: Any, tool: str = "search", **options: Any) -> AsyncIterator[McpProvider]:
    """A provider that is closed afterwards, with no task of its own left."""
    made = McpProvider(server, tool, key="mcp", label="MCP", **options)
    try:
        yield made
    finally:
        await made.close()
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert "earpiece-mcp" not in names


@asynccontextmanager
async def http_server(port: int, *arguments: str) -> AsyncIterator[Any]:
    """The server as a process of its own on a port of loopback, there until killed."""
    command = [sys.executable, str(SCRIPT), "http", str(port), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while not await _listens(port):  # noqa: ASYNC110 - another process sets no event here
                await asyncio.sleep(0.05)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@pytest.mark.parametrize("tool", ["search", "wrapped", "nested", "json_text"])
async def test_rows_are_found_in_every_shape(tool: str) -> None:
    """Lists come wrapped, nested, or as JSON inside text; rows keep id, title, text and raw score."""
    async with asked(make_server(), tool) as provider:
        first, second = await provider.retrieve(request_for(), context_for())
    assert (first.id, first.content, first.score) == ("release-1", "Releases require two reviewers.", 48.17)
    assert first.source.title == "Releases"
    assert (second.id, second.score) == ("travel-1", 0.0)


async def test_strings_and_single_rows_are_results_too() -> None:
    """A tool that answers with plain strings, or with one object that has text."""
    async with asked(make_server(), "strings") as provider:
        assert len(await provider.retrieve(request_for(), context_for())) == 2
    async with asked(make_server(), "one") as provider:
        (result,) = await provider.retrieve(request_for(), context_for())
        assert (result.source.title, result.content) == ("Releases", "Releases require two reviewers.")


async def test_prose_is_taken_only_when_the_host_says_so() -> None:
    """An error or "nothing found" is prose as well; the host knows how its server says it."""
    async with asked(make_server(), "prose") as strict:
        with pytest.raises(RetrievalError, match="text_fallback is off"):
            await strict.retrieve(request_for(), context_for())
    async with asked(make_server(), "prose", text_fallback=True, empty_text=lambda t: t.startswith("No ")) as prose:
        assert len(await prose.retrieve(request_for(), context_for())) == 1
        assert await prose.retrieve(request_for("nothing"), context_for()) == []


async def test_min_score_is_the_hosts_choice() -> None:
    """The second row scored nothing and is not spoken."""
    async with asked(make_server(), min_score=0.1) as provider:
        (result,) = await provider.retrieve(request_for(), context_for())
        assert result.id == "release-1"


@pytest.mark.parametrize("server", ["memory", "stdio"])
async def test_two_owners_asking_at_once_never_see_each_other(server: str) -> None:
    """Arguments of the trusted context win over everything else, with a hundred calls on one session."""
    scoped: dict[str, Any] = {
        "top_k_arg": "top_k",
        "static_args": {"owner": "nobody"},
        "timeout_seconds": 60.0,
        "connect_seconds": 30.0,
    }
    target = make_server() if server == "memory" else STDIO
    async with asked(target, owner_arguments=lambda context: {"owner": context.owner_id}, **scoped) as provider:
        owners = ["ann", "bob"] * 50
        calls = (provider.retrieve(request_for(), context_for(owner, seconds=60)) for owner in owners)
        answers = await asyncio.gather(*calls)
    assert [[result.metadata["owner"] for result in found] for found in answers] == [[owner] for owner in owners]


async def test_filters_need_an_argument_of_the_tool() -> None:
    """Servers ignore arguments they do not know, so a filter would be lost without a word."""
    async with asked(make_server()) as provider:
        with pytest.raises(UnsupportedFilters):
            await provider.retrieve(request_for(filters={"owner": "ann"}), context_for())
    async with asked(make_server(), filters_arg="where") as provider:
        assert (await provider.health()).status == "unconfigured"
        with pytest.raises(RetrievalError, match="takes no 'where'"):
            await provider.retrieve(request_for(filters={"owner": "ann"}), context_for())


async def test_a_missing_tool_is_unconfigured() -> None:
    """It is seen when connecting, and told to whoever operates the gateway."""
    async with asked(make_server(), "delete_everything") as provider:
        health = await provider.health()
        assert health.status == "unconfigured"
        assert "'delete_everything'" in health.message
        with pytest.raises(RetrievalError) as caught:
            await provider.retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_unconfigured"


@pytest.mark.parametrize(("tool", "code"), [("fails", "knowledge_bad_response"), ("count", "knowledge_bad_response")])
async def test_an_error_of_the_tool_is_typed_without_its_text(tool: str, code: str) -> None:
    """Tools put their exception's text, passwords included, into the answer."""
    async with asked(make_server(), tool) as provider:
        with pytest.raises(RetrievalError) as caught:
            await provider.retrieve(request_for(), context_for())
    assert caught.value.code == code
    assert "hunter2" not in everything_about(caught.value)


def has_begun(events: list[str], count: int) -> bool:
    return events.count("started") == count


async def test_a_barge_in_reaches_the_tool() -> None:
    """A hundred cancelled calls free their callers at once and end on the server; the session serves on."""
    events: list[str] = []
    async with asked(make_server(events), "hang") as provider, asyncio.timeout(20):
        for _ in range(10):
            calls = [asyncio.create_task(provider.retrieve(request_for(), context_for())) for _ in range(10)]
            started = events.count("started") + 10
            await until(partial(has_begun, events, started))
            for call in calls:
                call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        await until(lambda: events.count("ended") == 100)
        await until(lambda: not provider._connection._calls)
        assert (await provider.health()).ok


async def test_the_deadline_ends_a_call() -> None:
    """The caller's deadline holds, whatever the tool does."""
    async with asked(make_server(), "hang") as provider, asyncio.timeout(30):
        await provider.health()
        with pytest.raises(RetrievalTimedOut):
            await provider.retrieve(request_for(), context_for(seconds=0.1))


async def test_a_child_that_dies_comes_back() -> None:
    """The next search starts the server again; the child is gone after closing."""
    async with asyncio.timeout(60):
        async with asked(STDIO, timeout_seconds=30.0, connect_seconds=20.0) as provider:
            assert len(await provider.retrieve(request_for(), context_for(seconds=60))) == 2
            (first,) = _children()
            provider._tool = "leave"
            with pytest.raises(ProviderUnavailable):
                await provider.retrieve(request_for(), context_for(seconds=60))
            provider._tool = "search"
            assert len(await provider.retrieve(request_for(), context_for(seconds=60))) == 2
            (last,) = _children()
            assert last != first
        assert _children() == []


def _children() -> list[int]:
    return [p.pid for p in psutil.Process().children(recursive=True) if str(SCRIPT) in p.cmdline()]


@pytest.mark.parametrize("answers", ["sse", "json"])
async def test_a_server_killed_under_thirty_callers_cancels_none_of_them(answers: str, unused_tcp_port: int) -> None:
    """The SDK cancels the task that owns the client; that is nobody's but ours. After a restart all is well."""
    cancelling: list[int] = []

    async def caller(provider: McpProvider) -> list[KnowledgeResult] | RetrievalError:
        try:
            return await provider.retrieve(request_for(), context_for(seconds=60))
        except RetrievalError as error:
            return error
        finally:
            task = asyncio.current_task()
            cancelling.append(task.cancelling() if task is not None else -1)

    url = f"http://127.0.0.1:{unused_tcp_port}/mcp"
    extra = ["json"] if answers == "json" else []
    async with asyncio.timeout(110), asked(url, timeout_seconds=30.0, connect_seconds=30.0) as provider:
        async with http_server(unused_tcp_port, *extra) as process:
            assert all(isinstance(end, list) for end in await asyncio.gather(*(caller(provider) for _ in range(30))))
            provider._tool, provider._timeout_seconds = "hang", 10.0
            hanging = [asyncio.create_task(caller(provider)) for _ in range(30)]
            for _ in hanging:
                assert await process.stdout.readuntil(b"started\n")
            process.kill()
            await process.wait()
            ends = await asyncio.gather(*hanging)
            assert {type(end) for end in ends} == {ProviderUnavailable}
        provider._tool, provider._timeout_seconds = "search", 30.0
        down = await caller(provider)
        assert isinstance(down, ProviderUnavailable)
        async with http_server(unused_tcp_port, *extra):
            ends = await asyncio.gather(*(caller(provider) for _ in range(30)))
            assert [len(end) if isinstance(end, list) else end for end in ends] == [2] * 30
    assert cancelling
    assert set(cancelling) == {0}


async def test_closing_from_another_task_ends_calls_under_way() -> None:
    """Whoever closes the gateway is not who connected; calls end as unavailable and nothing is left."""
    events: list[str] = []
    provider = McpProvider(make_server(events), "hang", key="mcp", label="MCP")
    async with asyncio.timeout(30):
        call = asyncio.create_task(provider.retrieve(request_for(), context_for()))
        await until(lambda: events == ["started"])
        await asyncio.create_task(provider.close())
        with pytest.raises(ProviderUnavailable):
            await call
        with pytest.raises(ProviderUnavailable, match="is closed"):
            await provider.retrieve(request_for(), context_for())
        await until(lambda: len(asyncio.all_tasks()) == 1)


@pytest.mark.parametrize("server", ["memory", "sse", "json"])
async def test_an_answer_of_more_bytes_than_allowed_is_refused(server: str, unused_tcp_port: int) -> None:
    """Over HTTP the reading stops there; elsewhere the answer is refused once it is read."""
    async with asyncio.timeout(60):
        if server == "memory":
            async with asked(make_server(), "huge", max_bytes=20_000) as provider:
                await _is_limited(provider)
            return
        async with http_server(unused_tcp_port, *(["json"] if server == "json" else [])):
            url = f"http://127.0.0.1:{unused_tcp_port}/mcp"
            async with asked(url, "huge", max_bytes=20_000) as provider:
                await _is_limited(provider)


async def _is_limited(provider: McpProvider) -> None:
    assert len(await provider.retrieve(request_for("1000"), context_for(seconds=20))) == 1
    with pytest.raises(RetrievalError) as caught:
        await provider.retrieve(request_for("300000"), context_for(seconds=20))
    assert caught.value.code in ("knowledge_bad_response", "knowledge_unavailable")
    assert len(await provider.retrieve(request_for("1000"), context_for(seconds=20))) == 1


async def test_a_server_that_is_not_there_is_unavailable(unused_tcp_port: int, service: Loopback) -> None:
    """A dead port, a wrong command, a web page, a refusal: all are typed and quote nothing."""
    service.replies("sk-s3cret", 401)
    dead = f"http://127.0.0.1:{unused_tcp_port}/mcp"
    for server in (dead, StdioServerParameters(command="/nonexistent/server"), service.url):
        async with asyncio.timeout(20), asked(server) as provider:
            with pytest.raises(RetrievalError) as caught:
                await provider.retrieve(request_for(), context_for())
            assert caught.value.code == "knowledge_unavailable"
            assert "s3cret" not in everything_about(caught.value)
            assert (await provider.health()).status == "unavailable"


async def test_a_function_makes_a_new_transport_for_every_connection() -> None:
    """A transport serves one connection; a function can renew it."""
    from adapters._mcp_transport import http_transport

    port = _free_port()
    async with asyncio.timeout(60), http_server(port):

        def make() -> Any:
            return http_transport(f"http://127.0.0.1:{port}/mcp", {}, 1_000_000)

        async with asked(make) as provider:
            assert len(await provider.retrieve(request_for(), context_for(seconds=20))) == 2
    with pytest.raises(TypeError, match="function that makes one"):
        McpProvider(make(), "search", key="mcp", label="MCP")
    with pytest.raises(TypeError, match="not int"):
        McpProvider(5, "search", key="mcp", label="MCP")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def vendor_exceptions() -> list[type[Exception]]:
    found: set[type[Exception]] = set()
    todo: list[type[Exception]] = [Exception]
    while todo:
        for kind in type.__subclasses__(todo.pop()):
            todo.append(kind)
            found.add(kind)
    client_side = ("mcp.client", "mcp.shared")
    names = sorted(found, key=lambda kind: kind.__name__)
    return [kind for kind in names if kind.__module__.startswith(client_side) and not issubclass(kind, Warning)]


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_is_translated(kind: type[Exception]) -> None:
    """Whatever the client raises becomes one of ours; its text reaches nothing of ours."""
    error = kind.__new__(kind)
    Exception.__init__(error, "token=s3cret")
    ours = mcp_failure(ExceptionGroup("unhandled", [error]), "mcp") if not hasattr(error, "error") else None
    assert ours is not None or isinstance(error, MCPError)
    if ours is not None:
        assert "s3cret" not in everything_about(ours)


@pytest.mark.parametrize("code", [*CODES, -1])
def test_every_code_of_the_protocol_is_one_of_ours(code: int) -> None:
    """A code that is not in the table is an internal failure and never passes untranslated."""
    ours = mcp_failure(MCPError(code, "password=hunter2", {"token": "s3cret"}), "mcp")
    assert ours is not None
    assert type(ours) is type(CODES[code]("mcp")) if code in CODES else ours.code == "knowledge_internal"
    assert "hunter2" not in everything_about(ours)


def test_a_config_names_a_command_or_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly one of the two; the child gets the variables it was promised and no others."""
    base = {"key": "mcp", "label": "MCP", "tool": "search"}
    for wrong in (base, {**base, "url": "http://x.example", "command": "x"}):
        with pytest.raises(ProviderContractError, match="one of 'url' and 'command'"):
            from_config(wrong)
    with pytest.raises(ProviderContractError, match="'SEARCH_KEY'"):
        from_config({**base, "command": "x", "env_from": {"KEY": "SEARCH_KEY"}})
    monkeypatch.setenv("SEARCH_KEY", "s3cret")
    assert from_config({**base, "command": "x", "env_from": {"KEY": "SEARCH_KEY"}}).describe().key == "mcp"
    assert from_config({**base, "url": "http://x.example/mcp", "headers_env": {"X-Key": "SEARCH_KEY"}})


def peer(name: str) -> str:
    """The command of a server in an environment of its own; absent ones skip here and fail in CI."""
    command = PEERS / name / "bin" / name
    if not command.exists():
        message = f"{name} is not installed: run tests/peers/install_mcp.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return str(command)


@pytest.mark.slow
async def test_a_published_server_answers_with_structured_rows() -> None:
    """compliance-kb-mcp: BM25 over a public catalogue of controls, written for version 1 of the SDK."""
    server = StdioServerParameters(command=peer("compliance-kb-mcp"))
    options: dict[str, Any] = {"top_k_arg": "k", "timeout_seconds": 30.0, "connect_seconds": 25.0}
    async with asyncio.timeout(60), asked(server, "search_controls", **options) as provider:
        assert (await provider.health()).ok
        found = await provider.retrieve(
            request_for("account lockout after failed logins", top_k=3), context_for(seconds=50)
        )
    assert len(found) == 3
    assert all(result.source.title and len(result.content) > 40 for result in found)


@pytest.mark.slow
async def test_a_published_server_answers_in_prose(tmp_path: Path) -> None:
    """agents-docs: headings and text as prose, and "nothing found" as success."""
    command = peer("agents-docs")
    docs = tmp_path / ".agents" / "docs" / "handbook"
    docs.mkdir(parents=True)
    (docs / "releases.md").write_text("# Releases\n\n## Approval\n\nReleases require two reviewers.\n")
    server = StdioServerParameters(command=command, args=["serve"], env={"HOME": str(tmp_path)})
    options: dict[str, Any] = {
        "text_fallback": True,
        "empty_text": lambda text: text.startswith("No matching"),
        "timeout_seconds": 30.0,
        "connect_seconds": 25.0,
    }
    async with asyncio.timeout(60), asked(server, "search_docs", **options) as provider:
        (found,) = await provider.retrieve(request_for("release reviewers"), context_for(seconds=50))
        assert "Releases require two reviewers." in found.content
        assert found.score is None  # it stands in the prose alone, and is not guessed from there
        assert await provider.retrieve(request_for("xylophone"), context_for(seconds=50)) == []
