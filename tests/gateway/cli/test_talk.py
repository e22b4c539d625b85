"""The session before a model that the test plays: what is sent when an answer is cut off, and what is not."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.cli.talk import Heard, Talk
from gateway.realtime.holding import HOLDING_MARK
from tests.gateway.realtime.played import Peer, PlayedModel

SOUND = base64.b64encode(b"\x01\x02").decode()


class Ears:
    """Keeps what it is given to speak."""

    def __init__(self) -> None:
        self.played: list[tuple[bytes, str | None]] = []
        self.finished = 0
        self.spoken_over = 0
        self.news = asyncio.Event()

    def play(self, pcm: bytes, item: str | None) -> None:
        self.played.append((pcm, item))
        self.news.set()

    def played_out(self) -> None:
        self.finished += 1
        self.news.set()

    def person_speaks(self) -> None:
        self.spoken_over += 1
        self.news.set()

    async def next(self) -> None:
        async with asyncio.timeout(5):
            await self.news.wait()
        self.news.clear()


@asynccontextmanager
async def talking() -> AsyncIterator[tuple[Talk, Ears, Peer, PlayedModel]]:
    """A talk that is connected to a played model and speaks; the model has been told so."""
    model, ears = PlayedModel(), Ears()
    await model.start()
    talk = Talk(model.url)
    talk.speak_to(ears)
    running = asyncio.create_task(talk.run())
    try:
        peer = await model.connection()
        update = await peer.until("session.update")
        assert update["session"]["output_modalities"] == ["audio"]
        yield talk, ears, peer, model
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await model.aclose()


async def answers(peer: Peer, **response: Any) -> None:
    """Begin an answer and let it sound."""
    await peer.send("response.created", response={"id": "resp_1", **response})
    await peer.send("response.output_audio.delta", response_id="resp_1", item_id="item_1", delta=SOUND)


async def test_what_was_cut_off_is_told_before_the_answer_is_cancelled() -> None:
    """The model learns the millisecond, then that nobody wants the rest."""
    async with talking() as (talk, ears, peer, _):
        assert talk.ask("How many?") is not None
        await peer.until("response.create")
        await answers(peer)
        await ears.next()
        assert ears.played == [(b"\x01\x02", "item_1")]
        talk.interrupt([Heard("item_1", 320)])
        cut = await peer.next()
        assert (cut["type"], cut["item_id"], cut["content_index"]) == ("conversation.item.truncate", "item_1", 0)
        assert cut["audio_end_ms"] == 320
        assert (await peer.next())["type"] == "response.cancel"


async def test_a_refused_cut_is_no_trouble_of_the_next_question() -> None:
    """The model may know nothing of the item any more; the turn that runs by then is answered."""
    async with talking() as (talk, ears, peer, _):
        talk.ask("How many?")
        await answers(peer)
        await ears.next()
        await peer.send("response.done", response={"id": "resp_1", "status": "completed"})
        await peer.send("response.output_audio.done", response_id="resp_1", item_id="item_1")
        await ears.next()
        talk.interrupt([Heard("item_1", 320)])
        cut = await peer.until("conversation.item.truncate")
        turn = talk.ask("And now?")
        refused = {"type": "invalid_request_error", "code": "item_not_found", "event_id": cut["event_id"]}
        await peer.send("error", error={**refused, "message": "No such item."})
        await peer.send("input_audio_buffer.speech_started", item_id="item_9")
        await ears.next()
        assert turn is not None
        assert turn.problem == ""
        assert ears.spoken_over == 1


async def test_a_sentence_that_bridges_a_wait_is_spoken_as_no_item() -> None:
    """It cannot be cut off at the model, which has no item of it."""
    async with talking() as (talk, ears, peer, _):
        talk.ask("How many?")
        await answers(peer, metadata={HOLDING_MARK: "1"})
        await ears.next()
        assert ears.played == [(b"\x01\x02", None)]


async def test_an_item_of_a_lost_connection_is_not_cut_off_at_the_next_one() -> None:
    """The sound may go on, but the new session would not know what is meant."""
    async with talking() as (talk, ears, peer, model):
        talk.ask("How many?")
        await answers(peer)
        await ears.next()
        await peer.socket.close()
        again = await model.connection()
        await again.until("session.update")
        talk.interrupt([Heard("item_1", 320)])
        talk.ask("And now?")
        assert [(await again.next())["type"] for _ in range(2)] == ["conversation.item.create", "response.create"]
        assert [turn.phase for turn in talk.turns.said] == ["lost", "asked"]
