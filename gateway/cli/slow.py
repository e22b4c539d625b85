"""Says that a look-up takes its time, so that nobody takes waiting for an end."""

from collections.abc import Mapping
from typing import Any

import click

from ..conversation import Conversation, Turn


def tell_if_slow(event: Mapping[str, Any], turn: Turn) -> None:
    """Print one line on standard error where the gateway says that a look-up is slow."""
    if event["type"] == "knowledge.slow":
        click.echo(f"Looking up “{turn.query}”, for more than {event['waited_ms'] / 1000:.1f} s …", err=True)


async def patient_answer(talk: Conversation, question: str) -> Turn:
    """Ask and wait for the whole answer, as `Conversation.answer` does; a slow look-up says so meanwhile."""
    turn = Turn(question)
    async for event in talk.ask(turn):
        tell_if_slow(event, turn)
    return turn


__all__ = ["patient_answer", "tell_if_slow"]
