"""The chat as a screen: what was said on the left, the library on the right."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Footer, Input, Label, Static

from .chat_widgets import TurnView
from .connection import State
from .library_client import LibraryClient
from .library_pane import LibraryPane
from .sound.voice import Voice, VoiceChoice
from .sound.words import model_hint, voice_line
from .talk import Talk
from .turns import SaidTurn

if TYPE_CHECKING:
    from .chat import Address

_STATES: dict[State, str] = {
    "connecting": "connecting",
    "open": "connected",
    "away": "the gateway is away; start it with: earpiece serve",
    "refused": "the gateway does not accept the token; give another one in EARPIECE_TOKEN",
}
_HELP = (
    "/add PATH imports a document, /talk (F3) switches microphone and speaker, /quit ends, Ctrl-C stops an answer, "
    "F2 shows the library; on what is marked there Delete removes it and F5 reads its file again"
)
_NARROW_COLUMNS = 90


class ChatApp(App[None]):
    """Talks to the gateway at ``address``; keeps what was said while the gateway is away."""

    TITLE = "Earpiece"
    CSS_PATH = "chat.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Stop answer", priority=True),
        Binding("escape", "interrupt", "Stop answer", show=False),
        Binding("f2", "library", "Library"),
        Binding("f3", "talk", "Talk", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, address: "Address", choice: VoiceChoice | None = None) -> None:
        super().__init__()
        choice = choice or VoiceChoice()
        self.talk = Talk(address.websocket, token=address.token, changed=self._changed)
        self.voice = Voice(self.talk, choice, changed=self._show_state, said=self._say)
        self._library = LibraryPane(LibraryClient(address.http, token=address.token))
        self._views: dict[int, TurnView] = {}
        self._was_open = False
        self._talks_from_start = choice.from_start
        self._sentence = ""
        self._written: dict[str, str] = {}
        self._leaving = False

    def compose(self) -> ComposeResult:
        yield Label("connecting", id="state")
        yield Static("", id="voice-note", markup=False)
        with Horizontal():
            yield VerticalScroll(id="turns")
            yield self._library
        yield Input(placeholder="Ask a question, or /help", id="question")
        yield Footer()

    def on_mount(self) -> None:
        self._library.display = self.size.width >= _NARROW_COLUMNS
        self.query_one("#question").focus()
        self.run_worker(self.talk.run(), name="gateway")
        if self._talks_from_start:
            self.action_talk()

    async def on_unmount(self) -> None:
        self._leaving = True
        await self.voice.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line = event.value.strip()
        if line.startswith("/"):
            event.input.clear()
            self._command(line)
        elif line:
            self.voice.interrupt()
            if self.talk.ask(line) is not None:
                event.input.clear()

    def on_input_changed(self, event: Input.Changed) -> None:
        # Whoever begins to type has heard enough.
        if event.value and self.voice.playing:
            self.voice.interrupt()

    def action_interrupt(self) -> None:
        """Stop the answer; ctrl+q ends the chat."""
        self.voice.interrupt()

    @work(exclusive=True, group="voice")
    async def action_talk(self) -> None:
        """Switch microphone and speaker on or off."""
        self._say("")
        await self.voice.toggle()

    def action_library(self) -> None:
        """Show or hide the library."""
        self._library.display = not self._library.display
        if self._library.display:
            self._library.show()
            self.query_one("#documents").focus()
        else:
            self.query_one("#question").focus()

    def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        if name == "/quit":
            self.exit()
        elif name == "/talk":
            self.action_talk()
        elif name == "/add" and argument:
            self._library.display = True
            self._library.add(Path(argument).expanduser())
        else:
            self.notify(_HELP)

    def _changed(self, turn: SaidTurn | None) -> None:
        if turn is None:
            self._show_state()
        elif id(turn) in self._views:
            self._views[id(turn)].show()
        else:
            view = self._views[id(turn)] = TurnView(turn)
            turns = self.query_one("#turns", VerticalScroll)
            turns.mount(view)
            turns.anchor()

    def _say(self, sentence: str) -> None:
        self._sentence = sentence and f"{self._sentence}\n{sentence}".strip()
        self._show_state()

    def _show_state(self) -> None:
        if self._leaving:
            return
        self._write("#state", self._state_sentence())
        state = self.query_one("#state", Label)
        state.set_class(self.talk.state in ("away", "refused") or bool(self.talk.model_problem), "bad")
        if self.talk.state == "open" and not self._was_open:
            self._library.show()
        self._was_open = self.talk.state == "open"
        hint = model_hint(self.voice, embedded=self.talk.is_embedded, has_voice=self.talk.has_voice)
        self._write("#voice-note", "\n".join(filter(None, (self._sentence, hint))))

    def _write(self, selector: str, text: str) -> None:
        """Write a line, unless it says so already: the level of the microphone asks for it 25 times a second."""
        if self._written.get(selector) == text:
            return
        self._written[selector] = text
        line = self.query_one(selector, Static)
        line.update(Content(text))
        line.display = bool(text)

    def _state_sentence(self) -> str:
        if self.talk.model_problem and self.talk.state != "refused":
            return "the gateway cannot reach its model; it is tried again"
        embedded = self.talk.state == "open" and self.talk.is_embedded
        connected = _STATES[self.talk.state] + (" to Earpiece's embedded model" if embedded else "")
        return " · ".join(filter(None, (connected, voice_line(self.voice))))


__all__ = ["ChatApp"]
