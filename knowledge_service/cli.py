"""The commands ``earpiece source``, ``earpiece sync`` and ``earpiece audit``."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .audit import AuditHead, AuditLog
from .errors import InvalidSource
from .reindex import ReindexProgress

if TYPE_CHECKING:
    from .configuration import OpenService

_T = TypeVar("_T")
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _with_config(command: _Command) -> _Command:
    return click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="EARPIECE_KNOWLEDGE",
        default="knowledge.yaml",
        show_default=True,
        show_envvar=True,
        help="The file that describes the service.",
    )(command)


def _run(config: Path, work: Callable[["OpenService"], Awaitable[_T]]) -> _T:
    # Here and not above: the command line lists these commands also where the extra is not installed.
    try:
        from .configuration import open_service
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is missing. Install it with: pip install 'earpiece[service]'"
        ) from error

    async def run() -> _T:
        async with open_service(config) as opened:
            return await work(opened)

    return asyncio.run(run())


@click.group()
def source() -> None:
    """Add, list, reindex and remove knowledge sources."""


@source.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_with_config
def add(file: Path, config: Path) -> None:
    """Add the sources that FILE declares, or new versions of them."""

    async def work(opened: "OpenService") -> None:
        from .source_file import load_sources

        for one in load_sources(file):
            opened.service.adapter(one.adapter)
            opened.service.register_source(one)
            await opened.store.add(one)
            click.echo(
                f"{one.id}: version {one.version} is registered; index it with: earpiece source reindex {one.id}"
            )

    _run(config, work)


@source.command("list")
@_with_config
def list_sources(config: Path) -> None:
    """List the sources with how many documents each has."""

    async def work(opened: "OpenService") -> None:
        for one in opened.service.list_sources():
            count = await opened.service.ledger.count(one.id)
            click.echo(f"{one.id}\t{one.source.kind}\t{one.adapter}\tv{one.version}\t{count} documents\t{one.label}")

    _run(config, work)


@source.command("show")
@click.argument("source_id")
@_with_config
def show(source_id: str, config: Path) -> None:
    """Show one declaration as JSON."""

    async def work(opened: "OpenService") -> None:
        click.echo(opened.service.source(source_id).model_dump_json(by_alias=True, indent=2))

    _run(config, work)


@source.command("reindex")
@click.argument("source_id")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--limit", type=click.IntRange(min=1), help="Read at most so many documents; a later run goes on.")
@_with_config
def reindex(source_id: str, dry_run: bool, limit: int | None, config: Path) -> None:
    """Read a source again and bring its index up to date."""

    def report(progress: ReindexProgress) -> None:
        click.echo(f"  {progress.discovered} read", err=True)

    async def work(opened: "OpenService") -> ReindexProgress:
        return await opened.service.reindex_source(source_id, dry_run=dry_run, limit=limit, report=report)

    done = _run(config, work)
    words = "would be" if dry_run else "were"
    click.echo(
        f"{source_id}: {done.discovered} read; {done.added} {words} added, {done.changed} changed, "
        f"{done.removed} removed; {done.unchanged} unchanged, {done.unreadable} unreadable"
    )
    if not done.complete:
        click.echo("Not all of the source was read, so nothing was removed. Run it again to go on.")


@source.command("remove")
@click.argument("source_id")
@click.option("--keep-documents", is_flag=True, help="Leave the documents in the index.")
@_with_config
def remove(source_id: str, keep_documents: bool, config: Path) -> None:
    """Remove a source that was added by command, and its documents from the index."""

    async def work(opened: "OpenService") -> int:
        if source_id not in {one.id for one in await opened.store.sources()}:
            opened.service.source(source_id)
            raise InvalidSource(source_id, f"is declared in {config.name}. Remove it there.")
        removed = await opened.service.remove_source(source_id, keep_documents=keep_documents)
        await opened.store.remove(source_id)
        return removed

    click.echo(f"{source_id}: removed with {_run(config, work)} documents")


@click.group()
def sync() -> None:
    """See and replay what waits for an index."""


@sync.command("status")
@_with_config
def status(config: Path) -> None:
    """Say how many changes wait, how old they are, and which are dead."""

    async def work(opened: "OpenService") -> None:
        found = await opened.outbox.status()
        click.echo(f"{found.pending} waiting (the oldest for {found.lag_seconds:.0f} s), {found.dead} dead")
        for letter in await opened.outbox.dead_letters():
            click.echo(f"  {letter.object} {letter.record_id}: {letter.code} after {letter.attempts} attempts")

    _run(config, work)


@sync.command("retry")
@click.option("--object", "object_name", help="Only those of one object.")
@_with_config
def retry(object_name: str | None, config: Path) -> None:
    """Try dead letters again, and deliver what is due."""

    async def work(opened: "OpenService") -> tuple[int, int]:
        from .sync import SyncWorker

        replayed = await opened.outbox.replay(object_name)
        return replayed, await SyncWorker(opened.service, opened.outbox).drain()

    replayed, taken = _run(config, work)
    click.echo(f"{replayed} dead letters replayed, {taken} records taken up")


@click.group()
def audit() -> None:
    """Read and verify the audit log."""


def _log(opened: "OpenService") -> AuditLog:
    if opened.audit is None:
        raise InvalidSource("audit", "no log is configured. Write 'audit: audit.jsonl' into the file.")
    return opened.audit


@audit.command("show")
@click.option("-n", "count", default=20, show_default=True, help="How many entries, the newest last.")
@_with_config
def show_audit(count: int, config: Path) -> None:
    """Print the last entries."""

    async def work(opened: "OpenService") -> None:
        for entry in _log(opened).entries(count):
            facts = dict(entry.event)
            at = datetime.fromtimestamp(facts.pop("at", 0), UTC).isoformat(timespec="seconds")
            click.echo(f"{entry.number}\t{at}\t{facts.pop('kind')}\t{json.dumps(facts, ensure_ascii=False)}")

    _run(config, work)


@audit.command("verify")
@click.option("--head", help="A head noted earlier, as NUMBER:HASH; shows lines that were cut off since.")
@_with_config
def verify(head: str | None, config: Path) -> None:
    """Check that no line was changed, moved or removed, and print the head to note elsewhere."""

    async def work(opened: "OpenService") -> AuditHead:
        return _log(opened).verify(_head(head))

    found = _run(config, work)
    click.echo(f"The log is whole: {found.lines} entries. Its head is {found.lines}:{found.hash}")


def _head(text: str | None) -> AuditHead | None:
    if text is None:
        return None
    number, _, digest = text.partition(":")
    if not number.isdigit() or not digest:
        raise click.BadParameter("write it as NUMBER:HASH", param_hint="--head")
    return AuditHead(int(number), digest)


__all__ = ["audit", "source", "sync"]
