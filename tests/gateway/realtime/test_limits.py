"""What one client may do to the gateway: how fast, how much, and how slowly it may read."""

import asyncio
import json
import time

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.lane import Lane
from gateway.realtime.pace import Pace


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 0.05)), max_size=200))
def test_no_client_sends_faster_than_it_may_for_long(messages: list[tuple[int, float]]) -> None:
    """Over any stretch, what is let through stays within the rates plus one burst."""
    pace, now, size = Pace(100, 10_000, burst_seconds=2.0), 0.0, 0
    for count, (length, gap) in enumerate(messages, 1):
        now += gap
        now += pace.pause_after(length, now)
        size += length
        assert count / 100 <= now + 2.0 + 1e-6
        assert size / 10_000 <= now + 2.0 + 1e-6


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10_000), st.floats(0, 0.05)), max_size=200))
def test_no_owner_sends_faster_over_several_connections(messages: list[tuple[bool, int, float]]) -> None:
    """What all connections of an owner send together stays within the owner's rates plus one burst."""
    owner, now, size = Pace(100, 10_000, burst_seconds=2.0), 0.0, 0
    paces = {first: Pace(1000, 100_000, burst_seconds=2.0, shared=owner) for first in (True, False)}
    for count, (first, length, gap) in enumerate(messages, 1):
        now += gap
        now += paces[first].pause_after(length, now)
        size += length
        assert count / 100 <= now + 2.0 + 1e-6
        assert size / 10_000 <= now + 2.0 + 1e-6


def test_a_client_within_its_rates_never_waits() -> None:
    """Fifty frames a second are far from any limit."""
    pace = Pace(1000, 8 * 2**20)
    assert not any(pace.pause_after(1300, frame / 50) for frame in range(1000))


async def test_a_message_that_is_too_large_ends_the_connection(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """1009, as the protocol of websockets has it; nothing of it reaches the model."""
    async with open_gateway(None, upstream=model.url, max_message_bytes=4096) as gateway, dial(gateway) as client:
        peer = await model.connection()
        await client.send("input_audio_buffer.append", audio="A" * 5000)
        assert await client.closed() == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        assert (await peer.next())["type"] == "closed"


async def test_a_client_that_does_not_read_slows_the_model_down_and_is_cut_in_the_end(  # type: ignore[no-untyped-def]
    model, open_gateway, dial
) -> None:
    """Back-pressure: the gateway holds a bounded amount for a slow reader, and gives up one that has stopped."""
    settings = {"upstream": model.url, "stalled_seconds": 1.0}
    async with open_gateway(None, **settings) as gateway, dial(gateway, max_msg_size=2**26) as client:
        peer = await model.connection()
        client.socket._response.connection.transport.pause_reading()
        sending = asyncio.create_task(send_until_held_up(peer))
        async with asyncio.timeout(20):
            sent = await sending
        assert sent < 4000, "everything was buffered"  # the kernel alone holds some tens of megabytes on loopback
        assert (await peer.next())["type"] == "closed"


async def send_until_held_up(peer) -> int:  # type: ignore[no-untyped-def]
    """Send audio until the gateway takes no more; returns how many frames it took."""
    frame = "A" * 60_000
    for sent in range(4000):
        try:
            async with asyncio.timeout(0.2):
                await peer.send("response.output_audio.delta", response_id="resp", delta=frame)
        except TimeoutError:
            return sent
        await asyncio.sleep(0)
    return 4000


async def test_a_busy_loop_does_not_cost_a_connection(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """A machine that is out of breath for a quarter of the ping interval, again and again, drops nobody."""
    async with open_gateway(None, upstream=model.url, ping_seconds=1.2) as gateway, dial(gateway) as client:
        peer = await model.connection()
        reading = asyncio.create_task(client.until("rate_limits.updated"))
        for _ in range(6):
            time.sleep(0.3)  # noqa: ASYNC251
            await asyncio.sleep(0.05)
        await peer.send("rate_limits.updated")
        assert (await reading)["type"] == "rate_limits.updated"


async def test_text_that_is_no_event_is_answered_and_goes_no_further(model, open_gateway, dial) -> None:  # type: ignore[no-untyped-def]
    """The client learns what is wrong; the model is spared."""
    async with open_gateway(None, upstream=model.url) as gateway, dial(gateway) as client:
        peer = await model.connection()
        for text in ("", "[1]", '{"kind": "x"}', "{" * 1000):
            await client.socket.send_str(text)
            assert (await client.until("error"))["error"]["code"] == "invalid_json"
        await client.send("input_audio_buffer.clear")
        assert (await peer.next())["type"] == "input_audio_buffer.clear"


class Socket:
    """A socket that takes one text at a time, when it is let."""

    closed = False

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.may = asyncio.Event()

    async def send_str(self, data: str) -> None:
        self.sent.append(data)
        await self.may.wait()


async def test_what_is_queued_and_what_is_forwarded_keep_their_order() -> None:
    """A decision that was made first is on the wire first, although nobody waited for it."""
    socket = Socket()
    lane = Lane(socket)
    lane.put({"n": 1})
    lane.put({"n": 2})
    forwarding = asyncio.create_task(lane.forward("three"))
    await asyncio.sleep(0)
    socket.may.set()
    async with asyncio.timeout(5):
        await forwarding
    assert socket.sent == [json.dumps({"n": 1}).replace(" ", ""), '{"n":2}', "three"]


async def test_a_lane_holds_a_bounded_amount() -> None:
    """What nobody takes is not kept without end: the lane says so and takes no more."""
    lane = Lane(Socket(), max_queued_bytes=100)
    for _ in range(10):
        lane.put({"text": "x" * 50})
    assert lane.overflowed
    assert len(lane._queue) <= 3
    lane.close()


class PickySocket:
    """A socket that fails for one text."""

    closed = False

    def __init__(self, fault: Exception) -> None:
        self.fault = fault
        self.sent: list[str] = []

    async def send_str(self, data: str) -> None:
        if "bad" in data:
            raise self.fault
        self.sent.append(data)


@pytest.mark.parametrize("fault", [UnicodeEncodeError("utf-8", "secret", 0, 1, "no"), RuntimeError("secret")])
async def test_a_text_that_cannot_be_sent_holds_nothing_up(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """What is queued behind it goes out, and the log says that something was lost, not what it said."""
    socket = PickySocket(fault)
    lane = Lane(socket)
    for word in ("one", "bad", "two"):
        lane.put({"n": word})
    async with asyncio.timeout(5):
        await lane.drained()
        await lane.forward("bad")
        await lane.forward("three")
    assert socket.sent == ['{"n":"one"}', '{"n":"two"}', "three"]
    assert type(fault).__name__ in caplog.text
    assert "secret" not in caplog.text
    assert "bad" not in caplog.text
