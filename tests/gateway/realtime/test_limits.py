"""What one client may do to the gateway: how fast, how much, and how slowly it may read."""

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.lane import Lane
from gateway.realtime.pace import Pace
from tests.gateway.realtime.played import Peer, PlayedModel
from tests.gateway.realtime.stage import staged


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


async def test_a_message_that_is_too_large_ends_the_connection(model: PlayedModel) -> None:
    """1009, as the protocol of websockets has it; nothing of it reaches the model."""
    async with staged(model, None, max_message_bytes=4096) as stage:
        await stage.client.send("input_audio_buffer.append", audio="A" * 5000)
        assert await stage.client.closed() == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        assert (await stage.model.next())["type"] == "closed"


async def test_a_client_that_does_not_read_slows_the_model_down_and_is_cut_in_the_end(model: PlayedModel) -> None:
    """Back-pressure: the gateway holds a bounded amount for a slow reader, and gives up one that has stopped."""
    async with staged(model, None, stalled_seconds=1.0) as stage:
        with not_reading(stage.client):
            async with asyncio.timeout(20):
                sent = await frames_until_cut(stage.model)
        assert sent < MANY, "everything was buffered"  # the kernel alone holds some tens of megabytes on loopback


MANY = 1000


@contextlib.contextmanager
def not_reading(client: Peer) -> Iterator[None]:
    assert isinstance(client.socket, aiohttp.ClientWebSocketResponse)
    connection = client.socket._response.connection
    assert connection is not None
    assert connection.transport is not None
    connection.transport.pause_reading()
    yield
    connection.transport.resume_reading()


async def frames_until_cut(model: Peer) -> int:
    """Send audio until the gateway closes the connection; returns how many frames that were, at most `MANY`."""
    cut, sent = asyncio.create_task(model.closed()), 0
    while sent < MANY and not cut.done():
        with contextlib.suppress(ConnectionError):
            await model.send("response.output_audio.delta", response_id="resp", delta="A" * 60_000)
        sent += 1
    await cut
    return sent


async def test_a_busy_loop_does_not_cost_a_connection(model: PlayedModel) -> None:
    """A machine so out of breath that each turn of the loop takes a twentieth of the ping interval drops nobody."""
    async with staged(model, None, ping_seconds=2.0) as stage:
        at_client = asyncio.create_task(stage.client.until("rate_limits.updated"))
        at_model = asyncio.create_task(stage.model.until("input_audio_buffer.clear"))
        for _ in range(35):
            time.sleep(0.1)  # noqa: ASYNC251
            await asyncio.sleep(0)  # one turn, so that a ping is under way while the next one takes its time
        await stage.model.send("rate_limits.updated")
        await stage.client.send("input_audio_buffer.clear")
        await asyncio.gather(at_client, at_model)


async def test_text_that_is_no_event_is_answered_and_goes_no_further(model: PlayedModel) -> None:
    """The client learns what is wrong; the model is spared."""
    async with staged(model, None) as stage:
        for text in ("", "[1]", '{"kind": "x"}', "{" * 1000):
            await stage.client.socket.send_str(text)
            assert (await stage.client.next())["error"]["code"] == "invalid_json"
        await stage.sends_the_model_nothing()


class Socket:
    """A socket that takes one text at a time, when it is let."""

    closed = False

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.may = asyncio.Event()
        self.offered = asyncio.Event()

    async def send_str(self, data: str) -> None:
        self.sent.append(data)
        self.offered.set()
        await self.may.wait()


async def test_what_is_queued_and_what_is_forwarded_keep_their_order() -> None:
    """A decision that was made first is on the wire first, although nobody waited for it."""
    socket = Socket()
    lane = Lane(socket)
    lane.put({"n": 1})
    lane.put({"n": 2})
    forwarding = asyncio.create_task(lane.forward("three"))
    async with asyncio.timeout(5):
        await socket.offered.wait()
    assert not forwarding.done()
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
