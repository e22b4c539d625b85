"""``earpiece library import``: files and folders, once or for as long as they change."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from .folders import check_reachable
from .library import DomainLibrary
from .records import ImportOutcome, ImportStatus
from .shell import NamedPath, Session, command, embed, progress_bar, visible


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=NamedPath())
@click.option("--ignore", multiple=True, help="Leave out files that match, as *.log or drafts/*.")
@click.option("--watch", is_flag=True, help="Stay and import changes as they happen.")
@command
def import_(session: Session, paths: tuple[Path, ...], ignore: tuple[str, ...], watch: bool) -> None:
    """Import files and folders; what is unchanged is left alone."""
    for path in paths:
        check_reachable(path)
    folders = [path for path in paths if path.is_dir()] if watch else []
    if watch and not folders:
        raise click.UsageError("Name a folder to watch.")
    with session.opened_with_embedder() as opened:
        outcomes = [one for path in paths if path not in folders for one in _imported(opened, session, path, ignore)]
        if folders:
            _watched(opened, session, folders, ignore, outcomes)
            return
        embed(opened, session)
        session.show(outcomes, import_lines(outcomes))
    if outcomes and all(one.status is ImportStatus.REJECTED for one in outcomes):
        sys.exit(1)


def _imported(opened: DomainLibrary, session: Session, path: Path, ignore: tuple[str, ...]) -> Iterable[ImportOutcome]:
    if not path.is_dir():
        return [opened.import_file(path, owner_id=session.owner)]
    with progress_bar() as progress:
        task = progress.add_task(visible(f"Importing {path.name or path}"), total=None)
        return opened.import_folder(
            path, owner_id=session.owner, ignore=ignore, progress=lambda _: progress.advance(task)
        )


def import_lines(outcomes: Iterable[ImportOutcome]) -> Iterable[str]:
    counts = dict.fromkeys(ImportStatus, 0)
    for one in outcomes:
        counts[one.status] += 1
        if one.status is ImportStatus.REJECTED:
            yield f"Not imported: {one.reason}"
        for warning in one.warnings:
            yield f"{Path(one.path).name}: {warning}"
    yield ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "No readable files there."


def _watched(
    opened: DomainLibrary,
    session: Session,
    folders: list[Path],
    ignore: tuple[str, ...],
    outcomes: Iterable[ImportOutcome],
) -> None:
    """One line for each file, as it is imported or removed; with ``--json`` one object a line."""
    from .watching import watch

    def note(one: ImportOutcome) -> None:
        if session.as_json:
            click.echo(json.dumps(asdict(one), ensure_ascii=False))
        elif one.status is not ImportStatus.UNCHANGED:
            click.echo(visible(f"{one.status}: {one.reason or one.path}"))

    def watching() -> None:
        names = [str(folder) for folder in folders]
        sentence = visible(f"Watching {', '.join(names)}; Ctrl-C ends.")
        click.echo(json.dumps({"watching": names}) if session.as_json else sentence)

    for one in outcomes:
        note(one)
    watch(opened, folders, owner_id=session.owner, ignore=ignore, report=note, watching=watching)


__all__ = ["import_", "import_lines"]
