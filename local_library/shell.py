"""What all commands of ``earpiece library`` share: where the library is, whose documents, and how to print."""

import functools
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .errors import LibraryError, encodable
from .library import DomainLibrary
from .semantic.choosing import embedder_named

_NOTES = Console(stderr=True)
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls, halves of characters, and separators of lines and paragraphs."""


class Session:
    """What all commands share: where the library is, whose documents, and how to print."""

    def __init__(self, store: Path, owner: str, embedder: str, as_json: bool) -> None:
        self.store = store
        self.owner = owner
        self.embedder = embedder
        self.as_json = as_json

    def opened(self) -> DomainLibrary:
        return DomainLibrary(self.store)

    def opened_with_embedder(self) -> DomainLibrary:
        """For commands that embed or search: only they load it."""
        return DomainLibrary(self.store, embedder=embedder_named(self.embedder))

    def show(self, value: Any, lines: Iterable[str]) -> None:
        """Print ``value`` as JSON, or ``lines`` for people, each on one line."""
        if self.as_json:
            click.echo(encodable(json.dumps(value, ensure_ascii=False, indent=2, default=_plain)))
            return
        for line in lines:
            click.echo(visible(line))


class NamedPath(click.Path):
    """A path; an empty one is refused, for it would be the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("an empty path names nothing.", param, ctx)
        return super().convert(value, param, ctx)


def visible(text: str) -> str:
    """``text`` on one line, with escapes for what would steer a terminal."""
    return "".join(one if one == "\t" or unicodedata.category(one) not in _STEERING else _escape(one) for one in text)


def command(work: Callable[..., None]) -> Callable[..., None]:
    """One clear line and exit status 1 for what the library refuses."""

    @functools.wraps(work)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            work(*arguments, **options)
        except LibraryError as error:
            click.echo(visible(f"Error: {error}"), err=True)
            sys.exit(1)

    return click.pass_obj(run)


def progress_bar() -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=_NOTES, transient=True)


def embed(opened: DomainLibrary, session: Session) -> None:
    """Give the passages their vectors before the command ends: nobody would do it in the background then."""
    if opened.semantic.embedder is None:
        return
    with progress_bar() as progress:
        task = progress.add_task("Embedding", total=None)
        opened.semantic.embed_missing(
            owner_id=session.owner, progress=lambda done, all_: progress.update(task, completed=done, total=all_)
        )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


__all__ = ["NamedPath", "Session", "command", "embed", "progress_bar", "visible"]
