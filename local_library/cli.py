"""``earpiece library``: manage the documents of this machine from the shell."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from knowledge_provider import PERSONAL_OWNER

from .cli_import import import_, import_lines
from .library import DEFAULT_READ_CHARACTERS, DomainLibrary, default_store
from .records import DocumentInfo
from .semantic.choosing import CHOICES, VARIABLE
from .shell import NamedPath, Session, command, embed, progress_bar, visible
from .status import DocumentStatus

_OUT = Console()


@click.group()
@click.option("--store", type=NamedPath(), envvar="EARPIECE_LIBRARY_STORE", help="The library's folder.")
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
    context.obj = Session(store or default_store(), owner, embedder, as_json)


library.add_command(import_)


@library.command("list")
@command
def list_(session: Session) -> None:
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
        row = (one.document_id, one.title, *numbers, status.status.replace("_", " "), one.path)
        table.add_row(*(Text(visible(cell)) for cell in row))
    _OUT.print(table if documents else "No documents yet. Import some: earpiece library import PATH")
    for file in refused:
        click.echo(visible(f"Not imported: {file.reason}  ({file.path})"))


@library.command()
@click.argument("files", nargs=-1, required=True)
@command
def retry(session: Session, files: tuple[str, ...]) -> None:
    """Import files again that could not be imported, by id or path."""
    with session.opened() as opened:
        outcomes = [opened.retry(one, owner_id=session.owner) for one in files]
    session.show(outcomes, import_lines(outcomes))


@library.command()
@click.argument("files", nargs=-1, required=True)
@command
def dismiss(session: Session, files: tuple[str, ...]) -> None:
    """Forget files that could not be imported, by id or path; the files stay."""
    with session.opened() as opened:
        for one in files:
            opened.dismiss(one, owner_id=session.owner)
    session.show({"dismissed": list(files)}, [f"Dismissed {one}" for one in files])


@library.command()
@click.argument("document")
@command
def show(session: Session, document: str) -> None:
    """Show one document by id or path: title, summary, headings, lineage, warnings."""
    with session.opened() as opened:
        found = opened.show(document, owner_id=session.owner)
        status = opened.status(found)
        vectors = opened.semantic.count(owner_id=session.owner, document_id=found.document_id)
    lines = [
        found.title,
        *found.summary.splitlines(),
        "",
        *(f"{'  ' * (one.level - 1)}- {one.text}" for one in found.headings),
        "",
    ]
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
@command
def search(session: Session, query: str, limit: int) -> None:
    """Print the passages that answer QUERY."""
    with session.opened_with_embedder() as opened:
        opened.semantic.load()
        found = opened.search(query, owner_id=session.owner, limit=limit)
    parts = [(f"{one.passage.title} ({one.locator})", *one.text.splitlines(), "") for one in found]
    lines = [line for part in parts for line in part]
    session.show(found, lines or ["Nothing in the documents answers this."])
    sys.exit(0 if found else 1)


@library.command()
@click.argument("locator")
@click.option("--limit", default=DEFAULT_READ_CHARACTERS, show_default=True, type=click.IntRange(1))
@command
def read(session: Session, locator: str, limit: int) -> None:
    """Print the text that LOCATOR names: a path, a document's id, or path#heading."""
    with session.opened() as opened:
        found = opened.read(locator, owner_id=session.owner, limit_characters=limit)
    session.show(found, [*found.text.splitlines(), *(["… (more follows)"] if found.truncated else [])])


@library.command()
@click.argument("documents", nargs=-1, required=True)
@click.option("--compact", is_flag=True, help="Also erase their words from a large index now.")
@command
def remove(session: Session, documents: tuple[str, ...], compact: bool) -> None:
    """Erase documents by id or path; your own files stay."""
    with session.opened() as opened:
        removed = opened.remove_many(documents, owner_id=session.owner)
        if compact and _compacted(opened):
            removed = tuple(replace(one, erased=True) for one in removed)
    open_ends = [] if all(one.erased for one in removed) else ["Run earpiece library compact to finish the erasure."]
    session.show(removed, [*(f"Removed {one.document.title}" for one in removed), *open_ends])


@library.command()
@click.argument("documents", nargs=-1, required=True)
@command
def reimport(session: Session, documents: tuple[str, ...]) -> None:
    """Import documents again from where their files are."""
    with session.opened_with_embedder() as opened:
        outcomes = [opened.reimport(one, owner_id=session.owner) for one in documents]
        embed(opened, session)
    session.show(outcomes, import_lines(outcomes))


@library.command()
@command
def verify(session: Session) -> None:
    """Check that records, kept originals and index belong together."""
    with session.opened() as opened:
        found = opened.verify(owner_id=session.owner)
        vectors = opened.semantic.count(owner_id=session.owner)
        passages = sum(one.passages for one in opened.list(owner_id=session.owner)) if vectors else 0
    by_meaning = [f"{vectors} of {passages} passages can be found by meaning."] if vectors else []
    session.show(found, [*([one.sentence for one in found] or ["All is well."]), *by_meaning])
    sys.exit(1 if found else 0)


@library.command("rebuild-index")
@command
def rebuild_index(session: Session) -> None:
    """Make the index anew from the records; answers stay the same."""
    with session.opened_with_embedder() as opened, progress_bar() as progress:
        task = progress.add_task("Indexing", total=None)
        opened.rebuild_index(
            owner_id=session.owner, progress=lambda done, all_: progress.update(task, completed=done, total=all_)
        )
    session.show({"rebuilt": True}, ["The index was made anew."])


@library.command()
@command
def compact(session: Session) -> None:
    """Finish every erasure and give space back to the disk."""
    with session.opened() as opened:
        done = _compacted(opened)
    session.show({"finished": done}, ["Done." if done else "Another process reads old records; run it again later."])


@library.command()
@click.argument("folder", type=NamedPath())
@command
def export(session: Session, folder: Path) -> None:
    """Write the kept originals and a library.json into a new FOLDER."""
    with session.opened() as opened:
        count = opened.export(folder, owner_id=session.owner)
    session.show({"documents": count, "folder": str(folder)}, [f"{count} documents in {folder}"])


@library.command()
@click.option("--delete-stale", is_flag=True, help="Remove documents whose files are gone.")
@click.option("--reimport", "again", is_flag=True, help="Import changed files again.")
@command
def reconcile(session: Session, delete_stale: bool, again: bool) -> None:
    """Report how the files differ from what was imported; act only when told to."""
    with session.opened() as opened:
        found = opened.reconcile(owner_id=session.owner, delete_stale=delete_stale, reimport=again)
    lines = [f"{one.drift}: {one.path}" + ("" if one.action == "none" else f" ({one.action})") for one in found]
    session.show(found, lines or ["Every file is as it was imported."])
    sys.exit(1 if any(one.action == "none" for one in found) else 0)


def _with_status(document: DocumentInfo, status: DocumentStatus) -> dict[str, Any]:
    return {**asdict(document), "status": status.status, "status_sentence": status.sentence}


def _compacted(opened: DomainLibrary) -> bool:
    with progress_bar() as progress:
        task = progress.add_task("Erasing", total=None)
        return opened.compact(progress=lambda done, all_: progress.update(task, completed=done, total=all_))


__all__ = ["library"]
