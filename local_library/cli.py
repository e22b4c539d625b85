"""``earpiece library``: manage the documents of this machine from the shell."""

import functools
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from knowledge_provider import PERSONAL_OWNER

from .errors import LibraryError
from .library import DEFAULT_READ_CHARACTERS, DomainLibrary, default_store
from .records import DocumentInfo, ImportOutcome, ImportStatus
from .semantic.choosing import CHOICES, VARIABLE, embedder_named
from .status import DocumentStatus

_OUT = Console()
_NOTES = Console(stderr=True)


@click.group()
@click.option("--store", type=click.Path(path_type=Path), envvar="EARPIECE_LIBRARY_STORE", help="The library's folder.")
@click.option("--owner", default=PERSONAL_OWNER, show_default=True, help="Whose documents.")
@click.option(
    "--embedder",
    type=click.Choice(CHOICES),
    default="off",
    show_default=True,
    envvar=VARIABLE,
    help="Also find passages by meaning.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.pass_context
def library(context: click.Context, store: Path | None, owner: str, embedder: str, as_json: bool) -> None:
    """Import, list, read and remove the documents that the voice model may look up."""
    context.obj = _Session(store or default_store(), owner, embedder, as_json)


class _Session:
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
        """Print ``value`` as JSON, or ``lines`` for people."""
        if self.as_json:
            click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))
            return
        for line in lines:
            click.echo(line)


def _command(work: Callable[..., None]) -> Callable[..., None]:
    """One clear line and exit status 1 for what the library refuses."""

    @functools.wraps(work)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            work(*arguments, **options)
        except LibraryError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)

    return click.pass_obj(run)


@library.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--ignore", multiple=True, help="Leave out files that match, as *.log or drafts/*.")
@click.option("--watch", is_flag=True, help="Stay and import changes as they happen.")
@_command
def import_(session: _Session, paths: tuple[Path, ...], ignore: tuple[str, ...], watch: bool) -> None:
    """Import files and folders; what is unchanged is left alone."""
    folders = [path for path in paths if path.is_dir()] if watch else []
    if watch and not folders:
        raise click.UsageError("Name a folder to watch.")
    with session.opened_with_embedder() as opened:
        outcomes = [one for path in paths if path not in folders for one in _imported(opened, session, path, ignore)]
        if folders:
            _watched(opened, session, folders, ignore, outcomes)
            return
        _embed(opened, session)
        session.show(outcomes, _import_lines(outcomes))
    if outcomes and all(one.status is ImportStatus.REJECTED for one in outcomes):
        sys.exit(1)


@library.command("list")
@_command
def list_(session: _Session) -> None:
    """List the documents, and the files that could not be imported."""
    with session.opened() as opened:
        documents = [(one, opened.status(one)) for one in opened.list(owner_id=session.owner)]
        refused = opened.quarantined(owner_id=session.owner)
    if session.as_json:
        session.show({"documents": [_with_status(*one) for one in documents], "quarantined": refused}, ())
        return
    path = Column("Path", overflow="fold")
    table = Table(Column("Id", no_wrap=True), "Title", "Pages", "Passages", "Version", "Status", path, box=None)
    for one, status in documents:
        numbers = (str(one.pages or ""), str(one.passages), str(one.version))
        table.add_row(one.document_id, one.title, *numbers, status.status.replace("_", " "), one.path)
    _OUT.print(table if documents else "No documents yet. Import some: earpiece library import PATH")
    for file in refused:
        click.echo(f"Not imported: {file.reason}  ({file.path})")


@library.command()
@click.argument("files", nargs=-1, required=True)
@_command
def retry(session: _Session, files: tuple[str, ...]) -> None:
    """Import files again that could not be imported, by id or path."""
    with session.opened() as opened:
        outcomes = [opened.retry(one, owner_id=session.owner) for one in files]
    session.show(outcomes, _import_lines(outcomes))


@library.command()
@click.argument("files", nargs=-1, required=True)
@_command
def dismiss(session: _Session, files: tuple[str, ...]) -> None:
    """Forget files that could not be imported, by id or path; the files stay."""
    with session.opened() as opened:
        for one in files:
            opened.dismiss(one, owner_id=session.owner)
    session.show({"dismissed": list(files)}, [f"Dismissed {one}" for one in files])


@library.command()
@click.argument("document")
@_command
def show(session: _Session, document: str) -> None:
    """Show one document by id or path: title, summary, headings, lineage, warnings."""
    with session.opened() as opened:
        found = opened.show(document, owner_id=session.owner)
        status = opened.status(found)
        vectors = opened.semantic.count(owner_id=session.owner, document_id=found.document_id)
    lines = [found.title, found.summary, "", *(f"{'  ' * (one.level - 1)}- {one.text}" for one in found.headings), ""]
    lines += [f"Path: {found.path}", f"Version {found.version}, {found.size:,} bytes, {found.passages} passages"]
    lines += [f"{vectors} of {found.passages} passages can be found by meaning"] if vectors else []
    lines += [f"SHA-256 {found.source_content_hash}, {found.extractor_id}, {found.chunker_id}"]
    lines += [f"Pages, slides, sheets or chapters: {found.pages}"] if found.pages else []
    lines += [f"Status: {status.status.replace('_', ' ')}. {status.sentence}".rstrip()]
    lines += [f"Note: {warning}" for warning in found.warnings]
    session.show(_with_status(found, status) | {"vectors": vectors}, lines)


@library.command()
@click.argument("query")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 50))
@_command
def search(session: _Session, query: str, limit: int) -> None:
    """Print the passages that answer QUERY."""
    with session.opened_with_embedder() as opened:
        opened.semantic.load()
        found = opened.search(query, owner_id=session.owner, limit=limit)
    lines = [f"{one.passage.title} ({one.locator})\n{one.text}\n" for one in found]
    session.show(found, lines or ["Nothing in the documents answers this."])
    sys.exit(0 if found else 1)


@library.command()
@click.argument("locator")
@click.option("--limit", default=DEFAULT_READ_CHARACTERS, show_default=True, type=click.IntRange(1))
@_command
def read(session: _Session, locator: str, limit: int) -> None:
    """Print the text that LOCATOR names: a path, a document's id, or path#heading."""
    with session.opened() as opened:
        found = opened.read(locator, owner_id=session.owner, limit_characters=limit)
    session.show(found, [found.text, *(["… (more follows)"] if found.truncated else [])])


@library.command()
@click.argument("documents", nargs=-1, required=True)
@click.option("--compact", is_flag=True, help="Also erase their words from a large index now.")
@_command
def remove(session: _Session, documents: tuple[str, ...], compact: bool) -> None:
    """Erase documents by id or path; your own files stay."""
    with session.opened() as opened:
        removed = opened.remove_many(documents, owner_id=session.owner)
        if compact and _compacted(opened):
            removed = tuple(replace(one, erased=True) for one in removed)
    open_ends = [] if all(one.erased for one in removed) else ["Run earpiece library compact to finish the erasure."]
    session.show(removed, [*(f"Removed {one.document.title}" for one in removed), *open_ends])


@library.command()
@click.argument("documents", nargs=-1, required=True)
@_command
def reimport(session: _Session, documents: tuple[str, ...]) -> None:
    """Import documents again from where their files are."""
    with session.opened_with_embedder() as opened:
        outcomes = [opened.reimport(one, owner_id=session.owner) for one in documents]
        _embed(opened, session)
    session.show(outcomes, _import_lines(outcomes))


@library.command()
@_command
def verify(session: _Session) -> None:
    """Check that records, kept originals and index belong together."""
    with session.opened() as opened:
        found = opened.verify(owner_id=session.owner)
        vectors = opened.semantic.count(owner_id=session.owner)
        passages = sum(one.passages for one in opened.list(owner_id=session.owner)) if vectors else 0
    by_meaning = [f"{vectors} of {passages} passages can be found by meaning."] if vectors else []
    session.show(found, [*([one.sentence for one in found] or ["All is well."]), *by_meaning])
    sys.exit(1 if found else 0)


@library.command("rebuild-index")
@_command
def rebuild_index(session: _Session) -> None:
    """Make the index anew from the records; answers stay the same."""
    with session.opened_with_embedder() as opened, _progress() as progress:
        task = progress.add_task("Indexing", total=None)
        opened.rebuild_index(
            owner_id=session.owner, progress=lambda done, all_: progress.update(task, completed=done, total=all_)
        )
    session.show({"rebuilt": True}, ["The index was made anew."])


@library.command()
@_command
def compact(session: _Session) -> None:
    """Finish every erasure and give space back to the disk."""
    with session.opened() as opened:
        done = _compacted(opened)
    session.show({"finished": done}, ["Done." if done else "Another process reads old records; run it again later."])


@library.command()
@click.argument("folder", type=click.Path(path_type=Path))
@_command
def export(session: _Session, folder: Path) -> None:
    """Write the kept originals and a library.json into a new FOLDER."""
    with session.opened() as opened:
        count = opened.export(folder, owner_id=session.owner)
    session.show({"documents": count, "folder": str(folder)}, [f"{count} documents in {folder}"])


@library.command()
@click.option("--delete-stale", is_flag=True, help="Remove documents whose files are gone.")
@click.option("--reimport", "again", is_flag=True, help="Import changed files again.")
@_command
def reconcile(session: _Session, delete_stale: bool, again: bool) -> None:
    """Report how the files differ from what was imported; act only when told to."""
    with session.opened() as opened:
        found = opened.reconcile(owner_id=session.owner, delete_stale=delete_stale, reimport=again)
    lines = [f"{one.drift}: {one.path}" + ("" if one.action == "none" else f" ({one.action})") for one in found]
    session.show(found, lines or ["Every file is as it was imported."])
    sys.exit(1 if any(one.action == "none" for one in found) else 0)


def _with_status(document: DocumentInfo, status: DocumentStatus) -> dict[str, Any]:
    return {**asdict(document), "status": status.status, "status_sentence": status.sentence}


def _compacted(opened: DomainLibrary) -> bool:
    with _progress() as progress:
        task = progress.add_task("Erasing", total=None)
        return opened.compact(progress=lambda done, all_: progress.update(task, completed=done, total=all_))


def _imported(opened: DomainLibrary, session: _Session, path: Path, ignore: tuple[str, ...]) -> Iterable[ImportOutcome]:
    if not path.is_dir():
        return [opened.import_file(path, owner_id=session.owner)]
    with _progress() as progress:
        task = progress.add_task(f"Importing {path.name or path}", total=None)
        return opened.import_folder(
            path, owner_id=session.owner, ignore=ignore, progress=lambda _: progress.advance(task)
        )


def _embed(opened: DomainLibrary, session: _Session) -> None:
    """Give the passages their vectors before the command ends: nobody would do it in the background then."""
    if opened.semantic.embedder is None:
        return
    with _progress() as progress:
        task = progress.add_task("Embedding", total=None)
        opened.semantic.embed_missing(
            owner_id=session.owner, progress=lambda done, all_: progress.update(task, completed=done, total=all_)
        )


def _import_lines(outcomes: Iterable[ImportOutcome]) -> Iterable[str]:
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
    session: _Session,
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
            click.echo(f"{one.status}: {one.reason or one.path}")

    def watching() -> None:
        names = [str(folder) for folder in folders]
        click.echo(json.dumps({"watching": names}) if session.as_json else f"Watching {', '.join(names)}; Ctrl-C ends.")

    for one in outcomes:
        note(one)
    watch(opened, folders, owner_id=session.owner, ignore=ignore, report=note, watching=watching)


def _progress() -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=_NOTES, transient=True)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


__all__ = ["library"]
