"""The library beside the talk: what there is and how it stands, imports with their progress, and what can be done."""

from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Label, OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from .chat_widgets import Confirmation
from .library_client import LibraryClient, LibraryProblem
from .said import document_facts, document_trouble


class LibraryPane(Vertical):
    """Documents first, then files that were refused or are on their way. Their own words are never read as markup."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete", "remove", "Remove"),
        Binding("f5", "again", "Read again"),
    ]

    def __init__(self, client: LibraryClient) -> None:
        super().__init__(id="library")
        self._client = client
        self._rows: list[dict[str, Any]] = []

    def compose(self) -> ComposeResult:
        yield Label("Documents", id="library-title")
        yield OptionList(id="documents")
        yield ProgressBar(id="progress", total=1.0, show_eta=False)
        yield Static("", id="library-note", markup=False)

    def on_mount(self) -> None:
        self.query_one("#progress").display = False

    @work(group="imports")
    async def add(self, path: Path) -> None:
        """Import a file, with a bar while it is sent."""
        bar = self.query_one("#progress", ProgressBar)
        bar.update(progress=0.0)
        bar.display = True
        self._note(f"sending {path.name}")
        await self._do(lambda: self._client.upload(path, lambda part: self._sent(path, part)))
        bar.display = False

    @work(exclusive=True, group="listing")
    async def show(self) -> None:
        """List what there is now."""
        await self._list()

    @work(exclusive=True, group="library")
    async def action_remove(self) -> None:
        """Remove the marked document, once that is confirmed; a file that was refused is only forgotten."""
        row = self._marked()
        if row is None:
            return
        if row["status"] == "quarantined":
            await self._do(lambda: self._client.dismiss(row["id"]), f"dismissed: {row['name']}")
        elif await self.app.push_screen_wait(Confirmation(f"Remove “{row['title']}”? It will not be found any more.")):
            await self._do(lambda: self._client.remove(row["id"]), f"removed: {row['title']}")

    @work(exclusive=True, group="library")
    async def action_again(self) -> None:
        """Read the marked document's file again, or try a refused one again."""
        row = self._marked()
        if row is None:
            return
        again = self._client.retry if row["status"] == "quarantined" else self._client.reimport
        await self._do(lambda: again(row["id"]))

    async def _do(self, work: Any, done: str = "") -> None:
        try:
            changed = await work()
            self._note(done or f"{changed['status']}: {changed['document']['title']}")
        except LibraryProblem as problem:
            self._note(str(problem))
        await self._list()

    async def _list(self) -> None:
        try:
            listing = await self._client.listing()
            self._rows = [*listing["documents"], *listing["quarantined"], *listing["importing"]]
        except LibraryProblem as problem:
            self._rows = []
            self._note(str(problem))
        listed = self.query_one("#documents", OptionList)
        marked = listed.highlighted
        listed.clear_options()
        listed.add_options([Option(_lines(row)) for row in self._rows])
        listed.highlighted = None if marked is None or not self._rows else min(marked, len(self._rows) - 1)
        documents = sum("title" in row for row in self._rows)
        self.query_one("#library-title", Label).update(f"Documents ({documents})")

    def _marked(self) -> dict[str, Any] | None:
        index = self.query_one("#documents", OptionList).highlighted
        row = None if index is None or index >= len(self._rows) else self._rows[index]
        return None if row is None or row["status"] == "importing" else row

    def _sent(self, path: Path, part: float) -> None:
        self.query_one("#progress", ProgressBar).update(progress=part)
        if part >= 1.0:
            self._note(f"reading {path.name}")

    def _note(self, text: str) -> None:
        self.query_one("#library-note", Static).update(Content(text))


def _lines(row: dict[str, Any]) -> Content:
    lines = [Content.styled(row.get("title") or row["name"], "bold")]
    if facts := document_facts(row):
        lines.append(Content.styled(facts, "dim"))
    if row.get("summary"):
        lines.append(Content(row["summary"]))
    lines += [Content.styled(trouble, "$text-warning") for trouble in document_trouble(row)]
    return Content("\n").join(lines)


__all__ = ["LibraryPane"]
