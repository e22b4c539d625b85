"""`HttpProvider` against a real service on loopback, with the answers services really send."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from aiohttp import web

from adapters._json_client import http_failure
from adapters._json_text import parse_json
from adapters._pinned_transport import is_public_address
from adapters.http_service import HttpProvider, from_config
from knowledge_provider import ProviderContractError, RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, everything_about, request_for
from tests.adapters.loopback import Loopback

MADE: list[HttpProvider] = []


@pytest_asyncio.fixture(autouse=True)
async def closed_afterwards() -> AsyncIterator[None]:
    """Close what a test made, as a gateway would."""
    yield
    while MADE:
        await MADE.pop().close()


ROW = {
    "id": "chunk-42",
    "content": "Releases require two reviewers.",
    "score": 0.91,
    "source": {"id": "handbook", "title": "Handbook", "uri": "https://docs.example.com/r", "mimeType": "text/markdown"},
    "metadata": {"department": "engineering"},
}


def provider(url: str, **options: Any) -> HttpProvider:
    MADE.append(HttpProvider(f"{url}/search", key="company", label="Company", **options))
    return MADE[-1]


async def test_the_canonical_request_carries_both_objects_apart(service: Loopback) -> None:
    """What the model said and who asks are two members of the body; the answer is the contract's own shape."""
    service.replies({"results": [ROW]})
    company = provider(service.url, filters=True, headers={"Authorization": "Bearer s3cret"})
    (result,) = await company.retrieve(
        request_for("policy", top_k=3, knowledge_base_ids=("eng",), filters={"team": "a"}), context_for("ann")
    )
    assert service.bodies == [
        {
            "protocolVersion": 1,
            "request": {"query": "policy", "topK": 3, "knowledgeBaseIds": ["eng"], "filters": {"team": "a"}},
            "context": {"ownerId": "ann", "sessionId": "s-1", "turnId": "t-1", "traceId": "trace-1"},
        }
    ]
    assert service.requests[0].headers["Authorization"] == "Bearer s3cret"
    assert result.id == "chunk-42"
    assert result.score == 0.91
    assert result.source.mime_type == "text/markdown"
    assert result.metadata == {"department": "engineering"}


async def test_build_and_rows_translate_any_other_service(service: Loopback) -> None:
    """Two functions are all it takes for a service with a shape of its own."""
    service.replies({"answer": {"found": [{"text": "Two reviewers.", "url": "https://docs.example.com/a", "page": 7}]}})
    company = provider(
        service.url,
        build=lambda request, context: {"q": request.query, "tenant": context.owner_id},
        rows=lambda answer: answer["answer"]["found"],
    )
    (result,) = await company.retrieve(request_for("policy"), context_for("ann"))
    assert service.bodies == [{"q": "policy", "tenant": "ann"}]
    assert result.content == "Two reviewers."
    assert (result.source.uri, result.source.locator) == ("https://docs.example.com/a", "page=7")
    assert result.score is None


async def test_two_owners_asking_at_once_never_see_each_other(service: Loopback) -> None:
    """Headers and body of each call are made from its own trusted context, also with a hundred in flight."""
    together = asyncio.Barrier(100)

    async def answer(request: web.Request, body: Any) -> web.StreamResponse:
        await together.wait()
        owner = body["context"]["ownerId"]
        assert request.headers["X-Tenant"] == owner
        assert "Cookie" not in request.headers
        return web.json_response([{"id": owner, "content": owner}], headers={"Set-Cookie": f"session={owner}"})

    async def headers(context: Any) -> dict[str, str]:
        return {"X-Tenant": context.owner_id}

    service.answer = answer
    company = provider(service.url, headers=headers)
    owners = ["ann", "bob"] * 50
    async with asyncio.timeout(20):
        for _ in range(2):  # the second time would bring a session cookie along
            calls = [company.retrieve(request_for(), context_for(owner, seconds=15)) for owner in owners]
            answers = await asyncio.gather(*calls)
            assert [[result.id for result in results] for results in answers] == [[owner] for owner in owners]


async def test_a_hundred_barge_ins_leave_the_pool_idle(service: Loopback) -> None:
    """A cancelled request frees its caller at once and gives its connection back."""
    asked = asyncio.Semaphore(0)

    async def hang(_: web.Request, __: Any) -> web.StreamResponse:
        asked.release()
        await asyncio.Event().wait()
        raise AssertionError

    service.answer = hang
    company = provider(service.url)
    async with asyncio.timeout(20):
        for _ in range(10):
            calls = [asyncio.create_task(company.retrieve(request_for(), context_for())) for _ in range(10)]
            for _ in calls:
                await asked.acquire()
            for call in calls:
                call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        client = company._client._own
        assert client is not None
        pool = client._transport._pool  # type: ignore[attr-defined]
        assert [connection for connection in pool.connections if not connection.is_idle()] == []
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
    client = company._client._own
    assert client is not None
    pool = client._transport._pool  # type: ignore[attr-defined]
    assert [connection for connection in pool.connections if not connection.is_idle()] == []


def test_nan_in_json_is_no_value() -> None:
    """It is neither passed on, where it would break the next encoder, nor a reason to lose the answer."""
    assert parse_json("[NaN, Infinity, -Infinity, 1]", "company") == [None, None, None, 1]


@pytest.mark.parametrize(
    ("status", "code", "attempts"),
    [
        (400, "knowledge_invalid_request", 1),
        (401, "knowledge_unauthorized", 1),
        (403, "knowledge_forbidden", 1),
        (404, "knowledge_not_found", 1),
        (408, "knowledge_timeout", 1),
        (429, "knowledge_rate_limited", 1),
        (500, "knowledge_unavailable", 1),
        (503, "knowledge_unavailable", 2),
        (504, "knowledge_timeout", 1),
        (204, "knowledge_bad_response", 1),
        (302, "knowledge_bad_response", 1),
    ],
)
async def test_every_status_is_one_of_our_codes_and_only_503_is_tried_again(
    status: int,
    code: str,
    attempts: int,
    service: Loopback,
) -> None:
    """A refusal says nothing of what the service wrote, and a redirect is not followed."""
    headers = {"Location": "http://169.254.169.254/"} if status == 302 else {}
    service.replies("" if status == 204 else "Incorrect API key: sk-s3cret", status, headers)
    company = provider(service.url, headers={"Authorization": "Bearer sk-s3cret"})
    with pytest.raises(RetrievalError) as caught:
        await company.retrieve(request_for(), context_for())
    assert caught.value.code == code
    assert len(service.requests) == attempts
    assert "s3cret" not in everything_about(caught.value)


async def test_retry_after_is_told_and_not_slept(service: Loopback) -> None:
    """A voice turn does not wait for a service that says when to come back."""
    service.replies("", 503, {"Retry-After": "60"})
    company = provider(service.url)
    with pytest.raises(RetrievalError, match=r"60\.0 s"):
        await company.retrieve(request_for(), context_for())
    assert len(service.requests) == 1


def vendor_exceptions() -> list[type[Exception]]:
    found: list[type[Exception]] = []
    todo: list[type[Exception]] = [httpx2.HTTPError, httpx2.InvalidURL]
    while todo:
        current = todo.pop()
        todo += current.__subclasses__()
        found.append(current)
    abstract = {httpx2.HTTPError, httpx2.RequestError, httpx2.HTTPStatusError}  # the last is raised on demand only
    return [kind for kind in found if kind not in abstract and kind.__module__.startswith("httpx2")]


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_library_is_translated(kind: type[Exception]) -> None:
    """A new release that adds an exception fails here first."""
    ours = http_failure(kind("token=s3cret"), "company")
    assert ours is not None
    assert "s3cret" not in everything_about(ours)


async def test_a_dead_port_is_unavailable(unused_tcp_port: int) -> None:
    """Nobody there is a fact the model can be told."""
    company = provider(f"http://127.0.0.1:{unused_tcp_port}")
    with pytest.raises(RetrievalError) as caught:
        await company.retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_unavailable"


async def test_a_body_that_drips_for_ever_meets_the_total_deadline(service: Loopback) -> None:
    """Phase timeouts never end such a body; the deadline is for the whole call."""

    async def drip(request: web.Request, _: Any) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.005)

    service.answer = drip
    company = provider(service.url, timeout_seconds=0.1)
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalError) as caught:
            await company.retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_timeout"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('{"results": [{"id": "1", "content": "a", "content": "b"}]}', "same key twice"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("<html>sign in</html>", "not JSON"),
        ("", "not JSON"),
        ('{"results": {}}', "without a list"),
        ("42", "without a list"),
        ('{"results": ["' + "x" * 20_000 + '"]}', "more than 10000 bytes"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_typed_error(body: str, problem: str, service: Loopback) -> None:
    """Broken, ambiguous or boundless JSON is never guessed at."""
    service.replies(body)
    company = provider(service.url, max_bytes=10_000 if len(body) < 100_000 else 4_000_000)
    with pytest.raises(RetrievalError, match=problem) as caught:
        await company.retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_bad_response"


async def test_odd_values_inside_good_json_cost_only_themselves(service: Loopback) -> None:
    """NaN is no score, a lone surrogate is replaced, rows without text are left out, numbers become ids."""
    service.replies(
        '{"results": [{"id": 7, "content": "a \\ud800 b", "score": NaN, "metadata": {"n": 1e999, "k": [1], "_p": 1}},'
        ' {"id": "2", "content": "  "}, {"id": "3"}, null, 5, {"content": "no id", "score": 1e999}]}'
    )
    company = provider(service.url)
    first, second = await company.retrieve(request_for(), context_for())
    assert (first.id, first.content, first.score, first.metadata) == ("7", "a ? b", None, {})
    assert second.content == "no id"
    assert len(second.id) == 24
    assert second.score is None


async def test_a_compressed_body_that_was_not_asked_for_is_refused(service: Loopback) -> None:
    """A bomb of a few kilobytes would pass any limit that counts compressed bytes."""
    service.replies(gzip.compress(b"[" + b" " * 1_000_000 + b"]"), headers={"Content-Encoding": "gzip"})
    company = provider(service.url)
    with pytest.raises(RetrievalError, match="compressed"):
        await company.retrieve(request_for(), context_for())
    assert service.requests[0].headers["Accept-Encoding"] == "identity"


async def test_min_score_and_score_kind_are_the_hosts_choice(service: Loopback) -> None:
    """Scores pass raw, beyond one too; a distance is no score; a threshold drops what has none."""
    service.replies([{"id": str(n), "content": "x", "score": score} for n, score in enumerate((48.17, 0.0, -1, None))])
    raw, above, distance = (
        provider(service.url),
        provider(service.url, min_score=0.5),
        provider(service.url, score_kind="distance"),
    )
    assert [result.score for result in await raw.retrieve(request_for(), context_for())] == [48.17, 0.0, -1.0, None]
    assert [result.score for result in await above.retrieve(request_for(), context_for())] == [48.17]
    assert {result.score for result in await distance.retrieve(request_for(), context_for())} == {None}
    with pytest.raises(ValueError, match="distance"):
        provider(service.url, score_kind="distance", min_score=0.5)
    for each in (raw, above, distance):
        await each.close()


async def test_filters_are_refused_unless_the_service_applies_them(service: Loopback) -> None:
    """A filter is passed on or refused, never dropped; one that JSON cannot hold is the caller's fault."""
    service.replies([])
    with pytest.raises(UnsupportedFilters):
        await provider(service.url).retrieve(request_for(filters={"a": 1}), context_for())
    company = provider(service.url, filters=True)
    with pytest.raises(RetrievalError) as caught:
        await company.retrieve(request_for(filters={"a": float("nan")}), context_for())
    assert caught.value.code == "knowledge_invalid_request"
    assert service.requests == []


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
    await company.close()


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


async def test_health_asks_the_url_it_was_given(service: Loopback) -> None:
    """Without a URL the provider is ready; with one it is what the service answers, in our words."""
    service.replies({"fine": True})
    company = provider(service.url, health_url=f"{service.url}/health")
    assert (await company.health()).status == "ready"
    service.replies("password=hunter2", 500)
    health = await company.health()
    assert health.status == "unavailable"
    assert "hunter2" not in health.message
    assert (await provider(service.url).health()).ok


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


def test_a_config_names_unknown_keys_and_takes_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret written into the file is refused by its key and never shown."""
    base = {"key": "company", "label": "Company", "url": "https://search.example.com"}
    with pytest.raises(ProviderContractError, match="'api_key' is not known") as caught:
        from_config({**base, "api_key": "sk-s3cret"})
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ProviderContractError, match="'COMPANY_TOKEN'"):
        from_config({**base, "bearer_token_env": "COMPANY_TOKEN"})
    with pytest.raises(ProviderContractError, match="'url' is missing"):
        from_config({"key": "company", "label": "Company"})
    monkeypatch.setenv("COMPANY_TOKEN", "sk-s3cret")
    company = from_config({**base, "bearer_token_env": "COMPANY_TOKEN", "headers_env": {"X-Key": "COMPANY_TOKEN"}})
    assert company._headers == {"Authorization": "Bearer sk-s3cret", "X-Key": "sk-s3cret"}
    assert company.describe().key == "company"


def test_wrong_options_fail_at_composition() -> None:
    """What could not hold later is refused when the provider is built."""
    with pytest.raises(ValueError, match="http://"):
        HttpProvider("ftp://example.com", key="a", label="A")
    with pytest.raises(ValueError, match="trust_env"):
        HttpProvider("https://example.com", key="a", label="A", allow_private=False, trust_env=True)
