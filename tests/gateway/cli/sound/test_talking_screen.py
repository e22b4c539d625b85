"""The chat's screen with microphone and speaker, driven by keys, before a sound card without hardware."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gateway.application import create_gateway_application
from gateway.cli.chat import address_of
from gateway.cli.chat_app import ChatApp
from gateway.cli.chat_widgets import Confirmation, SourceLine
from gateway.cli.sound.portaudio import hangs
from gateway.cli.sound.voice import VoiceChoice
from gateway.realtime.synthetic_voice import speech
from gateway.settings import GatewaySettings
from tests.gateway.cli.sound.hearing_model import HearingModel, hearing_model
from tests.gateway.cli.sound.sound_card import SoundCard, sound_card
from tests.gateway.cli.test_chat_app import say, shown, until
from tests.gateway.web.providers import Handbook

LONG = {"id": "1", "content": "Releases require " + "many careful and patient " * 40 + "reviewers."}


class Screen:
    """The app and what is around it."""

    def __init__(self, pilot: Pilot[None], app: ChatApp, card: SoundCard, model: HearingModel) -> None:
        self.pilot, self.app, self.card, self.model = pilot, app, card, model

    async def shows(self, words: str, selector: str = "#state") -> None:
        """Wait until this part of the screen has these words."""
        try:
            await until(self.pilot, lambda: words in shown(self.pilot, selector))
        except TimeoutError:
            state, note = shown(self.pilot, "#state"), shown(self.pilot, "#voice-note")
            raise AssertionError(
                f"{selector} does not show {words!r}. The state is {state!r}, the note {note!r}."
            ) from None


def modalities(model: HearingModel) -> list[str]:
    """How the model was last told to answer."""
    updates: list[dict[str, list[str]]] = [
        event["session"] for event in model.received if event["type"] == "session.update"
    ]
    return [update["output_modalities"] for update in updates if "output_modalities" in update][-1]


def closed() -> None:
    """Every stream is closed."""
    assert not hangs()


@asynccontextmanager
async def screen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, provider: Handbook, *, talks: bool = False
) -> AsyncIterator[Screen]:
    async with AsyncExitStack() as stack:
        card = await stack.enter_async_context(sound_card(folder / "card"))
        for name, value in card.environment.items():
            monkeypatch.setenv(name, value)
        model = await stack.enter_async_context(hearing_model("How many reviewers?"))
        settings = GatewaySettings(drain_seconds=0.0, upstream=model.url)
        gateway = await stack.enter_async_context(create_gateway_application(provider, settings=settings))
        # A card that goes away under a stream that is not closed yet would leave PortAudio in this process hanging.
        stack.callback(closed)
        app = ChatApp(address_of(gateway.http_url, ""), VoiceChoice(from_start=talks))
        pilot = await stack.enter_async_context(app.run_test(size=(120, 40)))
        await until(pilot, lambda: app.talk.introduced)
        yield Screen(pilot, app, card, model)


async def test_f3_listens_speaks_and_is_quiet_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state line follows: listening with its level, speaking while muted, listening again, and off."""
    async with screen(tmp_path, monkeypatch, Handbook()) as seen:
        await seen.shows("connected")
        assert "listening" not in shown(seen.pilot, "#state")
        await seen.pilot.press("f3")
        await seen.shows("listening ▯▯▯▯▯")
        await seen.card.say(await speech("How many reviewers does a release need?", chinese=False))
        await seen.shows("▮")
        await seen.shows("listening …", ".question")
        await seen.shows("How many reviewers?", ".question")
        await seen.shows("speaking (microphone muted)")
        await until(seen.pilot, lambda: bool(seen.app.query(SourceLine)))
        assert "Releases require two reviewers." in shown(seen.pilot, ".answer")
        await seen.shows("listening ▯▯▯▯▯")
        await seen.pilot.press("f3")
        await until(seen.pilot, lambda: shown(seen.pilot, "#state") == "connected")
        assert not seen.app.voice.talking
        await seen.model.until(lambda: modalities(seen.model) == ["text"])


async def test_the_first_typed_character_silences_the_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever begins to type has heard enough; the model learns at which millisecond, and what was typed stays."""
    async with screen(tmp_path, monkeypatch, Handbook(LONG), talks=True) as seen:
        await seen.shows("listening")
        await say(seen.pilot, "How many reviewers?")
        await seen.shows("speaking")
        await seen.pilot.press("W")
        cut = await seen.model.event("conversation.item.truncate")
        assert cut["audio_end_ms"] < 30_000
        await seen.shows("listening")
        assert seen.app.query_one("#question", Input).value == "W"


async def test_the_microphone_is_heard_also_behind_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The level changes many times a second; a dialog before the page must not be in its way."""
    async with screen(tmp_path, monkeypatch, Handbook(), talks=True) as seen:
        await seen.shows("listening")
        await seen.app.push_screen(Confirmation("Remove it?"))
        await seen.card.say(await speech("How many reviewers does a release need?", chinese=False))
        await seen.model.until(lambda: bool(seen.model.spoken))
        await seen.pilot.press("escape")
        await seen.shows("Releases require two reviewers.", ".answer")


async def test_what_is_missing_is_said_below_the_state_and_typing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence for each device, gone with the next attempt; the question typed meanwhile is answered."""
    async with screen(tmp_path, monkeypatch, Handbook()) as seen:
        await seen.card.unplug()
        await say(seen.pilot, "/talk")
        await seen.shows("No microphone was found", "#voice-note")
        assert "No speaker was found" in shown(seen.pilot, "#voice-note")
        await say(seen.pilot, "/talk")
        await until(seen.pilot, lambda: shown(seen.pilot, "#voice-note").count("No microphone was found") == 1)
        await say(seen.pilot, "How many reviewers?")
        await seen.shows("Releases require two reviewers.", ".answer")
