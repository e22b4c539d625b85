"""What is no HTTP request: refused and logged without a word of what was sent, which may be a token."""

import asyncio
import logging

import pytest

from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings

SECRET = "ep_secret"
BAD_REQUESTS = {
    "a header too long": f"GET /v1/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECRET * 1000}\r\n\r\n",
    "a header with a null": f"GET /v1/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECRET}\0\r\n\r\n",
    "a name with a space": f"GET /v1/health HTTP/1.1\r\nHost: x\r\nAuthorization {SECRET}: x\r\n\r\n",
    "garbage": f"\x16\x03\x01{SECRET}\xff\xfe\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", [text.encode("latin-1") for text in BAD_REQUESTS.values()], ids=BAD_REQUESTS)
async def test_a_bad_request_is_refused_without_repeating_it(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """At most one line in the log, no traceback, and neither it nor the answer holds what was sent."""
    caplog.set_level(logging.DEBUG)
    async with create_gateway_application(settings=GatewaySettings(port=0)) as gateway:
        host, _, port = gateway.http_url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request_bytes)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert SECRET.encode() not in answer
    records = [record for record in caplog.records if record.name == "aiohttp.server"]
    assert [len(record.getMessage().splitlines()) for record in records] == [1]
    assert SECRET not in caplog.text
    assert "Traceback" not in caplog.text
