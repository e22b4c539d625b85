"""Whatever a service answers becomes results or one typed error."""

import asyncio
import gzip
from typing import Any

import httpx2
import pytest
from aiohttp import web

from adapters._json_client import http_failure
from adapters._json_text import parse_json
from knowledge_provider import RetrievalError
from tests.adapters.asking import context_for, everything_about, request_for
from tests.adapters.http_provider import provider
from tests.adapters.loopback import Loopback

pytestmark = pytest.mark.usefixtures("closed_afterwards")


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
