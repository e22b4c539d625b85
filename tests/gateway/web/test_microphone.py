"""The microphone: a WAV stands in for it, everything after it is real, up to what reaches the model."""

import asyncio
import base64
import json
import subprocess
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import numpy
from aiohttp import web
from playwright.async_api import expect

from tests.gateway.web.browser import HANDBOOK, ask, installed, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import LONG, Handbook

SPEAKS = "--autoplay-policy=no-user-gesture-required"
RATE = 24_000


def microphone(sound: Path) -> tuple[str, ...]:
    """Flags that put a WAV in the microphone's place, played once."""
    capture = f"--use-file-for-fake-audio-capture={sound}%noloop"
    return (SPEAKS, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", capture)


def spoken(path: Path, text: str) -> Path:
    """A WAV of a synthetic voice with silence after it."""
    raw = path.with_suffix(".raw.wav")
    subprocess.run([installed("espeak-ng"), "-w", str(raw), text], check=True, timeout=20)
    with wave.open(str(raw)) as source, wave.open(str(path), "wb") as target:
        target.setparams(source.getparams())
        target.writeframes(source.readframes(source.getnframes()) + bytes(4 * source.getframerate()))
    return path


def tone(path: Path, frequency: int, seconds: float = 2.0) -> Path:
    """A WAV of a sine wave at the 44.1 kHz of a common sound card."""
    times = numpy.arange(int(44_100 * seconds)) / 44_100
    with wave.open(str(path), "wb") as target:
        target.setnchannels(1)
        target.setsampwidth(2)
        target.setframerate(44_100)
        target.writeframes((numpy.sin(2 * numpy.pi * frequency * times) * 12_000).astype("<i2").tobytes())
    return path


class ListeningModel:
    """A realtime model that only listens: it keeps the PCM that reaches it."""

    def __init__(self, enough_seconds: float) -> None:
        self.pcm = bytearray()
        self.enough = asyncio.Event()
        self.url = ""
        self._wanted = int(enough_seconds * RATE * 2)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "session.created", "session": {"type": "realtime", "model": "listener"}})
        async for message in socket:
            event = json.loads(message.data) if message.type is aiohttp.WSMsgType.TEXT else {}
            if event.get("type") == "input_audio_buffer.append":
                self.pcm += base64.b64decode(event["audio"])
            if len(self.pcm) >= self._wanted:
                self.enough.set()
        return socket

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ListeningModel"]:
        application = web.Application()
        application.router.add_get("/v1/realtime", self.serve)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/v1/realtime"
        try:
            yield self
        finally:
            await runner.cleanup()


async def test_the_model_hears_the_microphone_as_pcm_at_24_khz(
    tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    """A tone of 1 kHz in the room is a tone of 1 kHz at the model: rate, byte order and sample format are right."""
    async with ListeningModel(1.5).running() as model:
        gateway = await serve(library=HANDBOOK, upstream=model.url)
        page = await open_page(gateway.http_url, flags=microphone(tone(tmp_path / "tone.wav", 1000)))
        await page.click("#talk")
        async with asyncio.timeout(40):
            await model.enough.wait()
        await page.click("#talk")
    samples = numpy.frombuffer(bytes(model.pcm[: (1.5).__int__() * RATE * 2]), dtype="<i2").astype(float)
    loud = samples[numpy.abs(samples).argmax() // RATE * RATE :][:RATE]
    spectrum = numpy.abs(numpy.fft.rfft(loud * numpy.hanning(len(loud))))
    peak = int(spectrum.argmax()) * RATE / len(loud)
    assert abs(peak - 1000) < 15, peak


async def test_a_spoken_question_becomes_a_turn_that_is_answered_aloud(
    tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    """Speech is noticed while it is spoken, ends by itself, and what the model says is played."""
    sound = spoken(tmp_path / "question.wav", "How many reviewers does a release need?")
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url, flags=microphone(sound))
    # The embedded model has no ears. A browser may lend it some; here the sound itself is to go through.
    await page.evaluate("delete window.webkitSpeechRecognition; delete window.SpeechRecognition")
    await page.click("#talk")
    await page.wait_for_selector(".turn")
    await page.wait_for_selector("#stop:not([hidden])")
    await turn(page, 1)
    assert await text_of(page, 1, "question") == "(spoken)"
    assert "send your question as text" in await text_of(page, 1, "answer")
    assert await page.get_attribute("#talk", "aria-pressed") == "true"


async def test_speaking_over_an_answer_stops_it(tmp_path: Path, serve: Serve, open_page: OpenPage) -> None:
    """The voice falls silent as soon as the person is heard, and the model learns how far it came."""
    sound = spoken(tmp_path / "wait.wav", ". . . . . . . . wait a moment please, I have another question")
    gateway = await serve(Handbook(LONG))
    page = await open_page(gateway.http_url, flags=microphone(sound))
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(str(data))))
    await page.reload()
    await page.wait_for_selector("#state-model:not([hidden])")
    await page.click("label.switch")
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    await page.click("#talk")
    await page.wait_for_selector(".turn:nth-child(2)")
    assert [frame for frame in sent if "conversation.item.truncate" in frame]


async def test_a_refused_microphone_is_a_plain_sentence_and_typing_goes_on(serve: Serve, open_page: OpenPage) -> None:
    """Without permission the page says how to give it, the button is not pressed, and a typed question works."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url, flags=(SPEAKS, "--deny-permission-prompts"))
    await page.click("#talk")
    await expect(page.locator("#voice-note")).to_contain_text("type your question")
    assert await page.get_attribute("#talk", "aria-pressed") == "false"
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    assert "two reviewers" in await text_of(page, 1, "answer")
