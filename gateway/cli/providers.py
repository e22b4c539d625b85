"""``earpiece providers``: the retrieval systems that can be mounted by name."""

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@click.command()
def providers() -> None:
    """List the retrieval systems that can be mounted with `earpiece serve --provider NAME`."""
    from ..providers import list_providers

    found = list_providers()
    if not found:
        click.echo("No provider is installed by name. Adapters come with extras: pip install 'earpiece[langchain]'.")
        return
    table = Table("name", "from", "factory")
    for entry in found:
        table.add_row(escape(entry.name), escape(entry.distribution), escape(entry.target))
    Console().print(table)
