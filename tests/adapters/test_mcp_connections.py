"""A session that is cancelled, killed, closed, too talkative or never there."""

import asyncio
from functools import partial
from typing import Any

import psutil
import pytest
from mcp.client.stdio import StdioServerParameters

from adapters.mcp import McpProvider
from knowledge_provider import KnowledgeResult, ProviderUnavailable, RetrievalError, RetrievalTimedOut
from tests.adapters.asking import context_for, everything_about, request_for, until
from tests.adapters.loopback import Loopback
from tests.adapters.mcp_servers import SCRIPT, STDIO, asked, http_server
from tests.adapters.search_server import make_server


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


async def test_a_function_makes_a_new_transport_for_every_connection(unused_tcp_port: int) -> None:
    """A transport serves one connection; a function can renew it."""
    from adapters._mcp_transport import http_transport

    port = unused_tcp_port
    async with asyncio.timeout(60), http_server(port):

        def make() -> Any:
            return http_transport(f"http://127.0.0.1:{port}/mcp", {}, 1_000_000)

        async with asked(make) as provider:
            assert len(await provider.retrieve(request_for(), context_for(seconds=20))) == 2
    with pytest.raises(TypeError, match="function that makes one"):
        McpProvider(make(), "search", key="mcp", label="MCP")
    with pytest.raises(TypeError, match="not int"):
        McpProvider(5, "search", key="mcp", label="MCP")
