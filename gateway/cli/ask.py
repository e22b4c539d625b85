"""``earpiece ask``: one question, one spoken answer."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..conversation import Turn, conversation
from ..realtime.extractive_answer import phrase
from ..settings import GatewaySettings
from ..spoken_links import without_links
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
    async with local_gateway(library, _embedder_settings()) as gateway, conversation(gateway.url) as talk:
        turn = await patient_answer(talk, question)
    if as_json:
        click.echo(json.dumps(asdict(turn), ensure_ascii=False, indent=2))
    else:
        _print_answer(turn)
    if turn.status not in ("ok", "no_results"):
        return 1
    return 0 if _is_answered(turn) else 3


def _embedder_settings() -> GatewaySettings:
    """The embedder as `earpiece serve` takes it; what else is set is about a gateway that stays."""
    name = "EARPIECE_DOMAIN_LIBRARY_EMBEDDER"
    return GatewaySettings.from_environment({name: os.environ.get(name, "")}, default_port=0)


def _is_answered(turn: Turn) -> bool:
    """Say whether the documents answered: passages may be found of which none fits, and the answer says so."""
    return turn.status == "ok" and turn.answer != phrase("no_results", turn.question)


def _named_sources(turn: Turn) -> list[dict[str, Any]]:
    """The sources that the answer speaks of: what was looked at and not used is no source of it."""
    return [source for source in turn.sources if source.get("title") and _spoken_title(source) in turn.answer]


def _spoken_title(source: dict[str, Any]) -> str:
    """The title as an answer says it."""
    return without_links(source["title"])


def _print_answer(turn: Turn) -> None:
    click.echo(turn.answer)
    links = {citation["title"]: citation["uri"] for citation in turn.citations}
    for source in _named_sources(turn)[:1]:
        place = f"<{links[source['title']]}>" if source["title"] in links else source.get("locator") or ""
        click.echo(f"  {_spoken_title(source)}  {place}".rstrip())
