"""``earpiece chat --voice`` before a sound card: what is said reaches the model, and what the model says is heard."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from gateway.application import create_gateway_application
from gateway.realtime.synthetic_voice import speech
from gateway.settings import GatewaySettings
from tests.gateway.cli.sound.hearing_model import HearingModel, hearing_model
from tests.gateway.cli.sound.sound_card import RATE, SoundCard, share_of, sound_card, until
from tests.gateway.web.providers import Handbook

ROOT = Path(__file__).resolve().parents[4]
LONG = {"id": "1", "content": "Releases require " + "many careful and patient " * 40 + "reviewers."}
NEARLY_ALL = 0.9


class Chat:
    """The command in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def line(self, words: str, *, of: str = "stdout") -> str:
        """The next line with these words."""
        stream = self.process.stdout if of == "stdout" else self.process.stderr
        assert stream is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                while read := (await stream.readline()).decode():
                    self.lines.append(read)
                    if words in read:
                        return read
        raise AssertionError(f"{words!r} was not said: {self.lines}")

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def end(self) -> tuple[int | None, str, str]:
        """End it as a person would; returns its status and what it said since."""
        async with asyncio.timeout(30):
            out, err = await self.process.communicate(b"/quit\n")
        return self.process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def chat(url: str, environment: dict[str, str], *options: str) -> AsyncIterator[Chat]:
    pipe = asyncio.subprocess.PIPE
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        "from gateway.cli import main; main()",
        "chat",
        "--plain",
        "--voice",
    ]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--url",
        url,
        *options,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        yield Chat(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@asynccontextmanager
async def talk(
    folder: Path, *options: str, provider: Any = None, ears: bool = True
) -> AsyncIterator[tuple[SoundCard, HearingModel, Chat]]:
    """A card, a model that hears (or the embedded one), a gateway and a chat that listens."""
    async with AsyncExitStack() as stack:
        card = await stack.enter_async_context(sound_card(folder / "card"))
        model = await stack.enter_async_context(hearing_model("How many reviewers?"))
        settings = GatewaySettings(drain_seconds=0.0, upstream=model.url if ears else None)
        mounted = create_gateway_application(provider or Handbook(), settings=settings)
        gateway = await stack.enter_async_context(mounted)
        said = await stack.enter_async_context(chat(gateway.url, card.environment, *options))
        await said.line("Listening.", of="stderr")
        yield card, model, said


def spoken(model: HearingModel) -> bytes:
    """The sound of the only answer."""
    (sound,) = model.spoken.values()
    return bytes(sound)


def is_audible(card: SoundCard) -> bool:
    return any(card.heard()[-RATE // 2 :])


async def test_a_spoken_question_is_answered_aloud_and_in_writing(tmp_path: Path) -> None:
    """The model gets the samples of the microphone, the speaker those of the model; both are written as well."""
    async with talk(tmp_path) as (card, model, said):
        question = await speech("How many reviewers does a release need?", chinese=False)
        await card.say(question)
        assert await said.line("you: ") == "you: How many reviewers?\n"
        await said.line("Releases require two reviewers.")
        await said.line("[1] Release handbook: Approvals <https://docs.example.com/releases>")
        assert share_of(question, bytes(model.pcm)) > NEARLY_ALL
        await until(lambda: share_of(spoken(model), card.heard()) > NEARLY_ALL)
        status, _, err = await said.end()
    assert (status, err) == (0, "")


async def test_while_it_speaks_the_microphone_is_silent_and_ctrl_c_tells_what_was_heard(tmp_path: Path) -> None:
    """Speech in the room does not reach the model; Ctrl-C silences the speaker and names the millisecond it came to."""
    async with talk(tmp_path, provider=Handbook(LONG)) as (card, model, said):
        await said.type("How many reviewers?")
        await until(lambda: is_audible(card))
        aside = await speech("Wait a moment please.", chinese=False)
        before = len(model.pcm)
        await card.say(aside)
        await model.until(lambda: len(model.pcm) > before + 2 * len(aside) + 2 * RATE)
        assert not any(model.pcm[before:]), "silence, as long as the speech was"
        assert "conversation.item.truncate" not in [event["type"] for event in model.received]
        said.process.send_signal(signal.SIGINT)
        cut = await model.event("conversation.item.truncate")
        await until(lambda: not is_audible(card))
        heard = share_of(spoken(model), card.heard()) * len(spoken(model)) / 2 / RATE * 1000
        assert cut["item_id"] in model.spoken
        assert abs(cut["audio_end_ms"] - heard) < 400, "of half a minute and more"
        assert len(spoken(model)) > 30 * 2 * RATE
        assert (await said.end())[0] == 0


async def test_with_headphones_speech_stops_the_answer(tmp_path: Path) -> None:
    """The microphone stays open: whoever speaks over the answer is heard, and is answered next."""
    async with talk(tmp_path, "--headphones", provider=Handbook(LONG)) as (card, model, said):
        await said.type("How many reviewers?")
        await until(lambda: is_audible(card))
        await card.say(await speech("Wait a moment please.", chinese=False))
        cut = await model.event("conversation.item.truncate")
        assert 0 < cut["audio_end_ms"] < 60_000
        assert await said.line("you: ") == "you: How many reviewers?\n"
        await model.until(lambda: len(model.spoken) == 2)


async def test_a_card_that_is_taken_away_leaves_a_chat_in_writing(tmp_path: Path) -> None:
    """Each loss is a sentence that says how to go on; the next question is answered, and the end is a calm one."""
    async with talk(tmp_path, ears=False) as (card, _, said):
        await card.unplug()
        losses = {await said.line("was taken away", of="stderr"), await said.line("was taken away", of="stderr")}
        assert len(losses) == 2
        assert all("then /talk again" in loss for loss in losses)
        await said.type("How many reviewers?")
        await said.line("Releases require two reviewers.")
        await said.type("/talk")
        await said.line("typing goes on", of="stderr")
        status, _, err = await said.end()
    assert status == 0
    assert "Traceback" not in err


async def test_without_a_sound_card_questions_are_typed(tmp_path: Path) -> None:
    """A machine without sound says so once, and answers."""
    nothing = tmp_path / "asound.conf"
    nothing.write_text('pcm.default { type pulse server "unix:/nonexistent" }\n', encoding="utf-8")
    mounted = create_gateway_application(Handbook(), settings=GatewaySettings())
    async with mounted as gateway, chat(gateway.url, {"ALSA_CONFIG_PATH": str(nothing)}) as said:
        await said.type("How many reviewers?")
        await said.line("Releases require two reviewers.")
        status, _, err = await said.end()
    assert status == 0
    assert err.count("No microphone was found") == 1
    assert "No speaker was found" in err


async def test_the_embedded_model_says_that_it_has_no_ears_and_answers_typed_questions_aloud(tmp_path: Path) -> None:
    """Whoever talks to it learns at once to type; what it answers is heard to its end before a pipe ends."""
    async with talk(tmp_path, ears=False) as (card, _, said):
        await said.line("does not understand speech", of="stderr")
        await said.type("How many reviewers?")
        answer = (await said.line("Releases require two reviewers.")).strip()
        assert (await said.end())[0] == 0
        assert share_of(await speech(answer, chinese=False), card.heard()) > NEARLY_ALL
