"""The chat as a screen: what was said on the left, the library on the right."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Footer, Input, Label, OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from .chat_widgets import Confirmation, TurnView
from .connection import State
from .library_client import LibraryClient, LibraryProblem
from .said import passages
from .talk import Talk
from .turns import SaidTurn

if TYPE_CHECKING:
    from .chat import Address

_STATES: dict[State, str] = {
    "connecting": "connecting",
    "open": "connected",
    "away": "the gateway is away; start it with: earpiece serve",
    "refused": "the gateway does not accept the token",
}
_HELP = "/add PATH imports a document, /quit ends, Ctrl-C stops an answer, F2 shows the library"
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
        Binding("delete", "remove", "Remove document", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, address: "Address") -> None:
        super().__init__()
        self.talk = Talk(address.websocket, token=address.token, changed=self._changed)
        self.library = LibraryClient(address.http, token=address.token)
        self._documents: list[dict[str, Any]] = []
        self._views: dict[int, TurnView] = {}
        self._was_open = False

    def compose(self) -> ComposeResult:
        yield Label("connecting", id="state")
        with Horizontal():
            yield VerticalScroll(id="turns")
            with Vertical(id="library"):
                yield Label("Documents", id="library-title")
                yield OptionList(id="documents")
                yield ProgressBar(id="progress", total=1.0, show_eta=False)
                yield Static("", id="library-note")
        yield Input(placeholder="Ask a question, or /help", id="question")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#progress").display = False
        self.query_one("#library").display = self.size.width >= _NARROW_COLUMNS
        self.query_one("#question").focus()
        self.run_worker(self.talk.run(), name="gateway")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line = event.value.strip()
        if line.startswith("/"):
            event.input.clear()
            self._command(line)
        elif line and self.talk.ask(line) is not None:
            event.input.clear()

    def action_interrupt(self) -> None:
        """Stop the answer; ctrl+q ends the chat."""
        self.talk.interrupt()

    def action_library(self) -> None:
        """Show or hide the library."""
        panel = self.query_one("#library")
        panel.display = not panel.display
        if panel.display:
            self.query_one("#documents").focus()
        else:
            self.query_one("#question").focus()

    @work(exclusive=True, group="library")
    async def action_remove(self) -> None:
        """Remove the document that is marked in the list, once that is confirmed."""
        index = self.query_one("#documents", OptionList).highlighted
        if index is None or not self._documents:
            return
        document = self._documents[index]
        if not await self.push_screen_wait(
            Confirmation(f"Remove “{document['title']}”? It will not be found any more.")
        ):
            return
        try:
            await self.library.remove(document["id"])
            self._note(f"removed: {document['title']}")
        except LibraryProblem as problem:
            self._note(str(problem))
        await self._list_documents()

    def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        if name == "/quit":
            self.exit()
        elif name == "/add" and argument:
            self.query_one("#library").display = True
            self._add(Path(argument).expanduser())
        else:
            self.notify(_HELP)

    @work(group="imports")
    async def _add(self, path: Path) -> None:
        bar = self.query_one("#progress", ProgressBar)
        bar.update(progress=0.0)
        bar.display = True
        self._note(f"sending {path.name}")
        try:
            added = await self.library.upload(path, lambda part: bar.update(progress=part))
            self._note(f"{added['status']}: {added['document']['title']}")
        except LibraryProblem as problem:
            self._note(str(problem))
        bar.display = False
        await self._list_documents()

    async def _list_documents(self) -> None:
        try:
            self._documents = await self.library.documents()
        except LibraryProblem as problem:
            self._documents = []
            self._note(str(problem))
        listed = self.query_one("#documents", OptionList)
        listed.clear_options()
        listed.add_options([Option(_document_line(document)) for document in self._documents])
        self.query_one("#library-title", Label).update(f"Documents ({len(self._documents)})")

    def _note(self, text: str) -> None:
        self.query_one("#library-note", Static).update(text)

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

    def _show_state(self) -> None:
        state = self.query_one("#state", Label)
        state.update(self._state_sentence())
        state.set_class(self.talk.state in ("away", "refused") or bool(self.talk.model_problem), "bad")
        if self.talk.state == "open" and not self._was_open:
            self.run_worker(self._list_documents(), group="library")
        self._was_open = self.talk.state == "open"

    def _state_sentence(self) -> str:
        if self.talk.model_problem and self.talk.state != "refused":
            return "the gateway cannot reach its model; it is tried again"
        embedded = self.talk.state == "open" and self.talk.model == "earpiece-embedded"
        return _STATES[self.talk.state] + (" to Earpiece's embedded model" if embedded else "")


def _document_line(document: dict[str, Any]) -> Content:
    title = Content.styled(document["title"], "bold")
    return Content("\n").join([title, Content.styled(f"{document['name']} · {passages(document['passages'])}", "dim")])


__all__ = ["ChatApp"]
