"""The chat in lines: for pipes, for screen readers, and where no screen can be drawn."""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .complaint import Complaint
from .library_client import LibraryClient, LibraryProblem
from .said import document_facts, document_trouble, ending, footnotes, lookup_line, question_line
from .sound.aside import in_loop
from .sound.voice import Voice, VoiceChoice
from .sound.words import mode_sentence, model_hint
from .talk import Talk
from .turns import SaidTurn

if TYPE_CHECKING:
    from .chat import Address

HELP = (
    "/documents lists the library, /add PATH imports, /remove TITLE removes, /again TITLE reads its file again, "
    "/talk switches microphone and speaker, /quit ends; Ctrl-C stops an answer."
)


async def chat_in_lines(address: "Address", choice: VoiceChoice) -> int:
    """Ask each line of standard input, one after another; returns 0 at its end. Raises `Complaint`."""
    chat = _PlainChat(address, choice)
    keeping = asyncio.create_task(chat.talk.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, chat.interrupt)
    try:
        await chat.connected()
        if choice.from_start:
            await chat.voice.toggle()
        await chat.serve(_lines(chat.typed))
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        await chat.leave()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    return 0


def _lines(typed: Callable[[], None]) -> "asyncio.Queue[str | None]":
    """Lines of standard input; None is its end. A thread of its own, for a read cannot be cancelled."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            in_loop(loop, typed)
            in_loop(loop, lines.put_nowait, line.strip())
        in_loop(loop, lines.put_nowait, None)

    threading.Thread(target=read, name="earpiece-stdin", daemon=True).start()
    return lines


class _PlainChat:
    def __init__(self, address: "Address", choice: VoiceChoice) -> None:
        self._address = address
        self.talk = Talk(address.websocket, token=address.token, changed=self._changed)
        self.voice = Voice(self.talk, choice, changed=self._voice_changed, said=_say)
        self.library = LibraryClient(address.http, token=address.token)
        self._news = asyncio.Event()
        self._printed = 0
        self._told: set[tuple[int, bool]] = set()
        self._said = {"mode": mode_sentence(self.voice)}
        self._asked = ""
        self._spoken: asyncio.Queue[SaidTurn] = asyncio.Queue()
        self._leaving = asyncio.Event()

    def interrupt(self) -> None:
        """Ctrl-C: stop the answer; when nothing is being answered, end."""
        if self.talk.running or self.voice.playing:
            self.voice.interrupt()
        else:
            self._leaving.set()

    async def leave(self) -> None:
        """Give back what is in use, without a word."""
        self._leaving.set()
        await self.voice.stop()

    def typed(self) -> None:
        """A line came in: whoever types has heard enough. Lines of a pipe wait for their turn."""
        if sys.stdin.isatty() and self.voice.started:
            self.voice.interrupt()

    async def connected(self) -> None:
        while self.talk.state in ("connecting", "open") and not (self.talk.introduced or self.talk.model_problem):
            await self._next()
        if self.talk.state == "refused":
            raise Complaint("the gateway does not accept the token. Give another one in EARPIECE_TOKEN.")
        if self.talk.model_problem:
            raise Complaint("the gateway cannot reach its model. See what it logs, or start it without --upstream.")
        if self.talk.state == "away":
            raise Complaint(f"no gateway answers at {self._address.websocket}. Start one with: earpiece serve")

    async def serve(self, lines: "asyncio.Queue[str | None]") -> None:
        """Do what each line says, and show what was spoken, until the lines end or somebody leaves."""
        leaving = asyncio.create_task(self._leaving.wait())
        while True:
            if sys.stdin.isatty():
                click.echo("> ", nl=False)
            reading, hearing = asyncio.create_task(lines.get()), asyncio.create_task(self._spoken.get())
            waited = {reading, hearing, leaving}
            done, waiting = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting - {leaving}:
                task.cancel()
            if hearing in done:
                await self._follow(hearing.result())
            if leaving.done() or (reading in done and reading.result() in (None, "/quit")):
                leaving.cancel()
                return
            if reading in done:
                await self._do(reading.result() or "")

    async def _do(self, line: str) -> None:
        command, _, argument = line.partition(" ")
        try:
            match command:
                case "":
                    pass
                case "/help":
                    click.echo(HELP)
                case "/talk":
                    await self.voice.toggle()
                case "/documents":
                    await self._list()
                case "/add":
                    await self._add(Path(argument))
                case "/remove":
                    await self._remove(argument)
                case "/again":
                    await self._again(argument)
                case _:
                    await self._ask(line)
        except LibraryProblem as problem:
            click.echo(str(problem), err=True)

    async def _list(self) -> None:
        listing = await self.library.listing()
        for document in listing["documents"]:
            _print_row(f"{document['title']}  ({document_facts(document)})", document)
        for file in [*listing["quarantined"], *listing["importing"]]:
            facts = document_facts(file)
            _print_row(f"{file['name']}  ({facts})" if facts else file["name"], file)

    async def _add(self, path: Path) -> None:
        added = await self.library.upload(path, _SendingLines(path.name).sent)
        click.echo(f"{added['status']}: {added['document']['title']}")

    async def _remove(self, title: str) -> None:
        row = await self._called(title)
        if row["status"] == "quarantined":
            await self.library.dismiss(row["id"])
            click.echo(f"dismissed: {row['name']}")
        else:
            await self.library.remove(row["id"])
            click.echo(f"removed: {row['title']}")

    async def _again(self, title: str) -> None:
        row = await self._called(title)
        again = self.library.retry if row["status"] == "quarantined" else self.library.reimport
        read = await again(row["id"])
        click.echo(f"{read['status']}: {read['document']['title']}")

    async def _called(self, title: str) -> dict[str, Any]:
        """The one document or refused file of this title, name or id."""
        listing = await self.library.listing()
        rows = [*listing["documents"], *listing["quarantined"]]
        found = [row for row in rows if title in (row.get("title"), row["name"], row["id"])]
        if len(found) != 1:
            raise LibraryProblem(f"{len(found)} documents are called {title!r}. /documents lists them.")
        return dict(found[0])

    async def _ask(self, question: str) -> None:
        while (turn := self.talk.ask(question)) is None:
            click.echo("The gateway is away; waiting for it. Ctrl-C ends.", err=True)
            await self._back()
            if self._leaving.is_set():
                return
        await self._follow(turn)

    async def _follow(self, turn: SaidTurn) -> None:
        """Print a turn as it comes, to its end; what comes through a pipe waits until it was spoken, too."""
        self._printed = 0
        self._told.clear()
        self._asked = ""
        while not turn.ended:
            await self._next()
            self._print(turn)
        self._print_end(turn)
        while self.voice.playing and not sys.stdin.isatty():
            await self._next()

    async def _back(self) -> None:
        leaving = asyncio.create_task(self._leaving.wait())
        while self.talk.state != "open" and not leaving.done():
            news = asyncio.create_task(self._next())
            await asyncio.wait({news, leaving}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        leaving.cancel()

    def _print(self, turn: SaidTurn) -> None:
        if not self._asked and (turn.lookups or turn.answer):
            self._print_question(turn)
        for index, lookup in enumerate(turn.lookups):
            ended = lookup.status != "running"
            if (ended or lookup.waited_milliseconds) and (index, ended) not in self._told:
                self._told.add((index, ended))
                click.echo(f"[{lookup_line(lookup, turn)}]")
        click.echo(turn.answer[self._printed :], nl=False)
        self._printed = len(turn.answer)

    def _print_question(self, turn: SaidTurn) -> None:
        if turn.spoken and self._asked != question_line(turn):
            self._asked = question_line(turn)
            click.echo(f"you: {self._asked}")

    def _print_end(self, turn: SaidTurn) -> None:
        self._print(turn)
        if turn.answer:
            click.echo()
        if turn.question:
            self._print_question(turn)  # a model may write down what it heard after it has answered
        if ending(turn):
            click.echo(ending(turn))
        for number, note in enumerate(footnotes(turn), start=1):
            where = " ".join(filter(None, (note.place, f"<{note.uri}>" if note.uri else "")))
            click.echo(f"  [{number}] {note.title}" + (f": {where}" if where else ""))

    def _changed(self, turn: SaidTurn | None) -> None:
        if turn is not None and turn.phase == "listening" and not turn.question:
            self._spoken.put_nowait(turn)
        self._voice_changed()

    def _voice_changed(self) -> None:
        self._news.set()
        self._tell("mode", mode_sentence(self.voice))
        self._tell("hint", model_hint(self.voice, embedded=self.talk.is_embedded, has_voice=self.talk.has_voice))

    def _tell(self, about: str, sentence: str) -> None:
        """Say what is new about the voice, once."""
        if sentence and sentence != self._said.get(about) and not self._leaving.is_set():
            _say(sentence)
        self._said[about] = sentence or self._said.get(about, "")

    async def _next(self) -> None:
        await self._news.wait()
        self._news.clear()


class _SendingLines:
    """Says how far a file is, on standard error: at each quarter, and when it is being read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._quarter = 0

    def sent(self, part: float) -> None:
        """Take how much of it is sent, from 0 to 1."""
        if part >= 1.0:
            _say(f"reading {self._name} …")
        elif int(part * 4) > self._quarter:
            self._quarter = int(part * 4)
            _say(f"sending {self._name}: {self._quarter * 25} %")


def _print_row(line: str, row: Mapping[str, Any]) -> None:
    click.echo(line)
    for trouble in document_trouble(row):
        click.echo(f"  {trouble}")


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)


__all__ = ["chat_in_lines"]
