"""Where `HttpProvider` connects to, and what becomes of its connections."""

import asyncio

import httpx2
import pytest
from aiohttp import web

from adapters._pinned_transport import is_public_address
from adapters.http_service import HttpProvider
from knowledge_provider import RetrievalError
from tests.adapters.asking import context_for, request_for
from tests.adapters.http_client import a_hundred_barge_ins, busy_connections
from tests.adapters.http_provider import ROW, provider
from tests.adapters.loopback import Loopback

pytestmark = pytest.mark.usefixtures("closed_afterwards")


async def test_a_hundred_barge_ins_leave_the_pool_idle(service: Loopback) -> None:
    """A cancelled request frees its caller at once and gives its connection back."""
    company = provider(service.url)
    async with asyncio.timeout(20):
        await a_hundred_barge_ins(company, service)
        assert busy_connections(company._client._own) == []
        service.replies([ROW])
        assert len(await company.retrieve(request_for(), context_for())) == 1


async def test_answers_that_are_not_read_to_their_end_give_their_connections_back(service: Loopback) -> None:
    """Refusals and bodies beyond the limit are left half way; a leak would use up the pool in an hour of talk."""
    company = provider(service.url, max_bytes=100)
    for status in (200, 500):
        service.replies(b"x" * 3_000_000, status)
        for _ in range(10):
            with pytest.raises(RetrievalError):
                await company.retrieve(request_for(), context_for())
    assert busy_connections(company._client._own) == []


async def test_proxies_of_the_environment_are_not_used_unless_asked(
    service: Loopback, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    """HTTP_PROXY would send owners' questions, and the credentials with them, through somebody else."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    service.replies([ROW])
    company = provider(service.url)
    assert await company.retrieve(request_for(), context_for())
    asked = provider(service.url, trust_env=True)
    with pytest.raises(RetrievalError):
        await asked.retrieve(request_for(), context_for())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "0x7f000001",
        "2130706433",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "100.64.0.1",
        "[fd00::1]",
        "0.0.0.0",
    ],
)
async def test_the_guard_refuses_inner_addresses_however_they_are_written(host: str, service: Loopback) -> None:
    """NAT64 and 6to4 addresses lead inside too, although Python calls them global."""
    service.replies([ROW])
    port = service.url.rpartition(":")[2]
    company = provider(f"http://{host}:{port}", allow_private=False)
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalError) as caught:
            await company.retrieve(request_for(), context_for())
    assert caught.value.code in ("knowledge_forbidden", "knowledge_unavailable")
    assert service.requests == []


async def test_the_guard_connects_to_the_address_it_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that answers differently the second time is asked only once; Host and certificate name stay the URL's."""
    from adapters import _pinned_transport

    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    monkeypatch.setattr(_pinned_transport, "_resolved", lambda host, port: next(answers))
    sent: list[httpx2.Request] = []

    def seen(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200)

    inner = httpx2.MockTransport(seen)
    transport = _pinned_transport.PinnedTransport("company", inner)
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("https://docs.example.com:8443/a?b=c")
    (request,) = sent
    assert str(request.url) == "https://93.184.216.34:8443/a?b=c"
    assert request.headers["Host"] == "docs.example.com:8443"
    assert request.extensions["sni_hostname"] == "docs.example.com"


async def test_one_private_address_among_several_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second address of a name is where an attacker puts the inner network."""
    from adapters import _pinned_transport
    from knowledge_provider import ProviderForbidden

    monkeypatch.setattr(_pinned_transport, "_resolved", lambda host, port: ["93.184.216.34", "10.0.0.1"])
    async with httpx2.AsyncClient(transport=_pinned_transport.PinnedTransport("company")) as client:
        with pytest.raises(ProviderForbidden):
            await client.get("https://docs.example.com/")


def test_public_addresses_pass_the_guard() -> None:
    """The guard lets the open internet through, in both versions."""
    assert is_public_address("93.184.216.34")
    assert is_public_address("2606:2800:220:1:248:1893:25c8:1946")
    assert not is_public_address("ff02::1")


async def test_a_client_of_the_hosts_is_used_and_left_open(service: Loopback) -> None:
    """Who built a client closes it."""
    service.replies([ROW])
    async with httpx2.AsyncClient(headers={"X-From": "host"}, follow_redirects=True) as client:
        company = provider(service.url, client=client)
        await company.retrieve(request_for(), context_for())
        await company.close()
        assert not client.is_closed
    assert service.requests[0].headers["X-From"] == "host"


def test_the_provider_serves_a_second_loop() -> None:
    """Connections belong to a loop; a gateway that starts again must not meet those of the last one."""
    from knowledge_provider import RetrievalContext

    async def once(company: HttpProvider) -> int:
        async def answer(request: web.Request) -> web.Response:
            return web.json_response([ROW])

        app = web.Application()
        app.router.add_post("/search", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        company._url = f"http://127.0.0.1:{runner.addresses[0][1]}/search"
        found = await company.retrieve(request_for(), RetrievalContext(owner_id="ann"))
        await company.close()
        await runner.cleanup()
        return len(found)

    company = provider("http://127.0.0.1:1")
    assert [asyncio.run(once(company)) for _ in range(2)] == [1, 1]
