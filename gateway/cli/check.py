"""``earpiece check``: the conformance checks on anyone's provider."""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .complaint import Complaint


@click.command()
@click.argument("target", metavar="PACKAGE.MODULE:FACTORY")
def check(target: str) -> None:
    """Run the conformance checks on a provider of your own.

    FACTORY is called without arguments and returns a fresh provider each time; a provider class serves as well.
    Exits 1 when a check fails.
    """
    from knowledge_provider.conformance import check_provider

    results = asyncio.run(check_provider(_factory(target)))
    table = Table("check", "", "what it means", title=f"Conformance of {target}")
    for result in results:
        mark = "[green]pass[/green]" if result.passed else "[red]fail[/red]"
        table.add_row(escape(result.name), mark, escape(result.sentence))
    console = Console()
    console.print(table)
    failed = [result.name for result in results if not result.passed]
    console.print(f"{len(results) - len(failed)} of {len(results)} checks pass.")
    sys.exit(1 if failed else 0)


def _factory(target: str) -> Callable[[], Any]:
    module_name, separator, attribute = target.partition(":")
    if not separator or not module_name or not attribute:
        raise Complaint(f"{target!r} is not of the form package.module:factory.")
    sys.path.insert(0, str(Path.cwd()))
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise Complaint(f"{module_name!r} is not the name of a module; write package.module:factory.")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise Complaint(f"cannot import {module_name!r}: {error}.") from error
    factory = getattr(module, attribute, None)
    if not callable(factory) or inspect.iscoroutinefunction(factory):
        raise Complaint(f"{module_name!r} has no plain function or class {attribute!r} that makes a provider.")
    return factory  # type: ignore[no-any-return]
