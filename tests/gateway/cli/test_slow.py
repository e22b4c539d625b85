"""``earpiece ask`` and ``earpiece demo`` say that they wait, and keep standard output for the answer."""

import asyncio
import io

import pytest
from rich.console import Console

from gateway.application import create_gateway_application
from gateway.cli.demo import Expectation, ask_and_print
from gateway.cli.slow import patient_answer
from gateway.conversation import Conversation, conversation
from gateway.settings import GatewaySettings
from tests.gateway.web.providers import WaitingHandbook

LINE = "Looking up “How many reviewers?”, for more than 0.0 s …\n"


async def slowly(handbook: WaitingHandbook, captured: pytest.CaptureFixture[str]) -> None:
    """Let the documents answer once the line is there."""
    errors = ""
    async with asyncio.timeout(20):
        while LINE not in errors:
            await asyncio.sleep(0)
            errors += captured.readouterr().err
    handbook.go.set()


@pytest.mark.parametrize("command", ["ask", "demo"])
async def test_a_slow_look_up_is_one_line_on_standard_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It comes while the look-up runs; the answer that follows is whole."""
    handbook = WaitingHandbook()
    settings = GatewaySettings(timeout_seconds=30, slow_seconds=0.02)
    async with (
        create_gateway_application(handbook, settings=settings) as gateway,
        conversation(gateway.url) as talk,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = tasks.create_task(slowly(handbook, capsys))
        answer = await asked(command, talk)
        assert waiting.done(), "the answer came after the line"
    assert "two reviewers" in answer


async def asked(command: str, talk: Conversation) -> str:
    if command == "ask":
        return (await patient_answer(talk, "How many reviewers?")).answer
    printed = io.StringIO()
    expectation = Expectation("How many reviewers?", "Release handbook")
    assert await ask_and_print(Console(file=printed), talk, expectation)
    return printed.getvalue()


async def test_a_quick_look_up_says_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever does not wait reads the answer alone."""
    handbook = WaitingHandbook()
    handbook.go.set()
    settings = GatewaySettings(slow_seconds=30)
    async with (
        create_gateway_application(handbook, settings=settings) as gateway,
        conversation(gateway.url) as talk,
    ):
        await patient_answer(talk, "How many reviewers?")
    assert capsys.readouterr().err == ""
