"""``earpiece demo``: the whole thing once, on this machine, without a key."""

import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from ..conversation import Conversation, Turn, conversation
from .complaint import Complaint
from .local_gateway import local_gateway, run
from .slow import tell_if_slow

HANDBOOK = Path(__file__).resolve().parents[2] / "examples" / "handbook"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A question of the demo and the document that answers it (none: the documents are silent)."""

    question: str
    document: str | None


QUESTIONS = (
    Expectation("How many reviewers does a release need?", "Release handbook"),
    Expectation("报销款多久到账？", "费用报销制度"),
    Expectation("What does the cafeteria serve on Fridays?", None),
)


@click.command()
@click.option(
    "--library",
    type=click.Path(path_type=Path),
    default=HANDBOOK,
    show_default="the handbook of an invented company",
    help="A folder of documents.",
)
def demo(library: Path) -> None:
    """Ask three questions: one answered in English, one in Chinese, one that the documents do not answer.

    Exits 0 only if the first two are answered from the right document and the third is honestly not.
    """
    if library == HANDBOOK and not HANDBOOK.exists():
        raise Complaint("the demo's documents come with the repository. Name a folder of your own with --library.")
    sys.exit(run(_demo(library)))


async def _demo(documents: Path) -> int:
    console = Console(highlight=False, soft_wrap=True)
    async with local_gateway(documents) as gateway:
        console.print(f"Gateway at [bold]{gateway.url}[/bold], documents from [bold]{documents.name}/[/bold]")
        console.print("The voice is Earpiece's embedded model: it quotes what it finds, and is no language model.\n")
        async with conversation(gateway.url) as talk:
            passed = [await ask_and_print(console, talk, expectation) for expectation in QUESTIONS]
    console.print("All three as expected." if all(passed) else "[red]Not all answers were as expected.[/red]")
    return 0 if all(passed) else 1


async def ask_and_print(console: Console, talk: Conversation, expectation: Expectation) -> bool:
    """Ask, print what happens, and say whether the answer came from the document that was expected."""
    turn = Turn(expectation.question)
    console.print(f"[bold]You[/bold]        {escape(turn.question)}")
    async for event in talk.ask(turn):
        tell_if_slow(event, turn)
        if event["type"] == "knowledge.started":
            console.print(f"[dim]tool call  knowledge(query={escape(repr(turn.query))})[/dim]")
        elif event["type"] == "knowledge.completed":
            _print_lookup(console, turn)
    console.print(f"[bold]Assistant[/bold]  {escape(turn.answer)}")
    for citation in turn.citations:
        console.print(f"[bold]Citation[/bold]   {escape(citation['title'])} <{escape(citation['uri'])}>")
    console.print(f"[dim]time       first word after {turn.first_word_milliseconds or 0:.0f} ms[/dim]\n")
    return _as_expected(turn, expectation)


def _print_lookup(console: Console, turn: Turn) -> None:
    console.print(f"[dim]status     {turn.status} in {turn.knowledge_milliseconds or 0:.1f} ms[/dim]")
    for source in turn.sources:
        place = Path(source.get("locator") or "").name
        console.print(f"[dim]passage    {escape(source.get('title') or '')}  ({escape(place)})[/dim]")


def _as_expected(turn: Turn, expectation: Expectation) -> bool:
    if expectation.document is None:
        return turn.status == "no_results" and not turn.citations
    first = turn.sources[0].get("title") if turn.sources else None
    return turn.status == "ok" and first == expectation.document and expectation.document in turn.answer
