"""The group of all commands: ours by name, and those that installed packages add (``earpiece.commands``)."""

import importlib
import sys
from importlib.metadata import EntryPoint, entry_points

import click

from knowledge_provider import KnowledgeError

from ..conversation import ConversationError
from ..settings import InvalidSetting
from .complaint import Complaint

_COMMANDS = {
    "ask": ("gateway.cli.ask", "ask", "Ask one question of a folder of documents and print the spoken answer."),
    "chat": ("gateway.cli.chat", "chat", "Talk to a running gateway from the terminal."),
    "check": ("gateway.cli.check", "check", "Run the conformance checks on your own provider."),
    "demo": ("gateway.cli.demo", "demo", "Three spoken questions to a folder of documents, with citations."),
    "desktop": ("gateway.cli.desktop", "desktop", "Open the page in a window of its own, with a gateway of its own."),
    "doctor": ("gateway.cli.doctor", "doctor", "Say what is configured, reachable and missing."),
    "mcp": ("gateway.cli.mcp", "mcp", "Offer the knowledge tool to any MCP client."),
    "providers": ("gateway.cli.providers", "providers", "List the retrieval systems that can be mounted by name."),
    "serve": ("gateway.cli.serve", "serve", "Run the gateway."),
    "token": ("gateway.token_commands", "token", "Create, list and revoke access tokens."),
}


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="earpiece.commands")}


class LazyGroup(click.Group):
    """Knows the names and one-line helps of all commands; imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*_COMMANDS, *_plug_ins()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module, attribute, _ = _COMMANDS[cmd_name]
            return _as_command(getattr(importlib.import_module(module), attribute))
        point = _plug_ins().get(cmd_name)
        return _as_command(point.load()) if point else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str) -> str:
        if name in _COMMANDS:
            return _COMMANDS[name][2]
        command = self.get_command(ctx, name)
        return command.get_short_help_str(80) if command else ""


def _as_command(loaded: object) -> click.Command:
    if not isinstance(loaded, click.Command):
        raise TypeError(f"{loaded!r} is not a click command")
    return loaded


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="earpiece", prog_name="earpiece")
def earpiece() -> None:
    """Give a realtime voice agent what your documents say."""


def main() -> None:
    """Run the command line; anything a person can mend is one line on stderr and exit status 1."""
    try:
        earpiece.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (Complaint, ConversationError, InvalidSetting, KnowledgeError) as error:
        click.echo(f"earpiece: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
