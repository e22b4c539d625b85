"""``earpiece ask``: one question, one spoken answer."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..conversation import Turn, conversation
from .complaint import Complaint
from .local_gateway import local_gateway, run
from .slow import patient_answer


@click.command()
@click.argument("question")
@click.option("--library", type=click.Path(path_type=Path), required=True, help="A folder of documents.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole envelope: query, status, sources, citations.")
def ask(question: str, library: Path, as_json: bool) -> None:
    """Ask QUESTION of a folder of documents, through a gateway, and print the answer.

    Exits 0 when the documents answered, 3 when they hold nothing about it, 1 on an error.
    """
    if not question.strip():
        raise Complaint("the question is empty.")
    sys.exit(run(_ask(question, library, as_json=as_json)))


async def _ask(question: str, library: Path, *, as_json: bool) -> int:
    async with local_gateway(library) as gateway, conversation(gateway.url) as talk:
        turn = await patient_answer(talk, question)
    if as_json:
        click.echo(json.dumps(asdict(turn), ensure_ascii=False, indent=2))
    else:
        _print_answer(turn)
    if turn.status in ("ok", "no_results"):
        return 0 if _named_sources(turn) else 3
    return 1


def _named_sources(turn: Turn) -> list[dict[str, Any]]:
    """The sources that the answer speaks of: what was looked at and not used is no source of it."""
    return [source for source in turn.sources if source.get("title") and source["title"] in turn.answer]


def _print_answer(turn: Turn) -> None:
    click.echo(turn.answer)
    links = {citation["title"]: citation["uri"] for citation in turn.citations}
    for source in _named_sources(turn)[:1]:
        place = f"<{links[source['title']]}>" if source["title"] in links else source.get("locator") or ""
        click.echo(f"  {source['title']}  {place}".rstrip())
