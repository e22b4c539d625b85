"""What the chat's screen is made of: a turn, a source that opens, a question that wants a yes."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Label, Static

from .said import Footnote, ending, footnotes, lookup_line, question_line
from .turns import SaidTurn


class SourceLine(Static, can_focus=True):
    """One footnote; with a link it opens in the browser on Enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open source")]

    def __init__(self, number: int, note: Footnote) -> None:
        title = Content.styled(note.title, "underline $text-accent" if note.uri else "bold")
        where = " · ".join(filter(None, (note.place, note.uri)))
        super().__init__(Content.assemble(f"[{number}] ", title, (f"  {where}" if where else "", "dim")))
        self.uri = note.uri

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the source's public link, where it has one."""
        if self.uri:
            self.app.open_url(self.uri)


class TurnView(Vertical):
    """One question and its answer. Documents and models write into it, so nothing in it is read as markup."""

    def __init__(self, turn: SaidTurn) -> None:
        super().__init__(classes="turn")
        self._turn = turn
        self._notes = 0
        self._ready = False

    def compose(self) -> ComposeResult:
        yield Static("", classes="question", markup=False)
        yield Static("", classes="lookups", markup=False)
        yield Static("", classes="answer", markup=False)
        yield Static("", classes="end", markup=False)

    def on_mount(self) -> None:
        # A fast answer may be complete by now; what changed before is shown here.
        self._ready = True
        self.show()

    def show(self) -> None:
        """Bring the screen to the state of the turn."""
        if not self._ready:
            return
        turn = self._turn
        self._set("question", question_line(turn))
        self._set("lookups", "\n".join(lookup_line(lookup, turn) for lookup in turn.lookups))
        waiting = turn.phase in ("asked", "queued") and not turn.answer
        self._set("answer", "…" if waiting else turn.answer)
        self._set("end", ending(turn))
        notes = footnotes(turn) if turn.ended else []
        for number, note in list(enumerate(notes, start=1))[self._notes :]:
            self.mount(SourceLine(number, note))
        self._notes = len(notes)

    def _set(self, part: str, text: str) -> None:
        line = self.query_one(f".{part}", Static)
        line.update(Content(text))
        line.display = bool(text)


class Confirmation(ModalScreen[bool]):
    """Asks before something is lost."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "Keep it")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="confirmation"):
            yield Label(Content(self._question))
            with Horizontal():
                yield Button("Keep it", id="keep")
                yield Button("Remove", id="remove", variant="error")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "remove")


__all__ = ["Confirmation", "SourceLine", "TurnView"]
