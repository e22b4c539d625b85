"""``earpiece serve``: the gateway, until it is told to stop."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import click

from knowledge_provider import KnowledgeRetrievalProvider

from ..application import GatewayApplication, create_gateway_application
from ..settings import GatewaySettings
from .complaint import Complaint
from .local_gateway import checked_folder, run
from .running import running


@click.command()
@click.option("--library", type=click.Path(path_type=Path), help="A folder of documents to answer from.")
@click.option("--provider", help="A retrieval system by name; `earpiece providers` lists them.")
@click.option("--provider-config", type=click.Path(path_type=Path), help="Its settings, a JSON file.")
@click.option("--upstream", help="The realtime model, a ws:// or wss:// address; without it the embedded model.")
@click.option("--host", help="Where to listen; anything but loopback needs tokens.")
@click.option("--port", type=int, help="The port, 8787 by default.")
@click.option("--tokens-file", type=click.Path(path_type=Path), help="The file of `earpiece token create`.")
@click.option("--metrics", is_flag=True, default=None, help="Serve Prometheus metrics at /metrics.")
@click.option("--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]))
def serve(
    library: Path | None,
    provider: str | None,
    provider_config: Path | None,
    upstream: str | None,
    host: str | None,
    port: int | None,
    tokens_file: Path | None,
    metrics: bool | None,
    log_level: str,
) -> None:
    """Run the gateway for voice clients, with its web page.

    Settings come from EARPIECE_* variables; options win over them. Ends on Ctrl-C or SIGTERM: answers in flight are
    settled, sockets are closed, the provider is closed once.
    """
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if provider and library:
        raise Complaint("--provider and --library exclude each other: one gateway mounts one provider.")
    settings = GatewaySettings.from_environment(
        host=host, port=port, upstream=upstream, tokens_file=tokens_file, metrics=metrics
    )
    mounted = named_provider(provider, provider_config) if provider else None
    folder = checked_folder(library) if library else None
    application = create_gateway_application(mounted, library=folder, settings=settings)
    sys.exit(run(_serve(application)))


def named_provider(name: str, config: Path | None) -> KnowledgeRetrievalProvider:
    from ..providers import load_provider

    return load_provider(name, _config(config) if config else {})


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text())
    except OSError as error:
        raise Complaint(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise Complaint(f"{path} is not JSON: {error}.") from error
    if not isinstance(config, dict):
        raise Complaint(f"{path} must hold a JSON object of settings.")
    return config


async def _serve(application: GatewayApplication) -> int:
    async with running(application) as stop:
        _announce(application)
        await stop.wait()
        click.echo("Closing: answers in flight are settled first.", err=True)
    return 0


def _announce(application: GatewayApplication) -> None:
    description = application.runtime.describe()
    knowledge = description.label if description else "none: no tool is offered"
    click.echo(f"Page       {application.http_url}/")
    click.echo(f"Realtime   {application.url}")
    click.echo(f"Knowledge  {knowledge}")
    click.echo(f"Model      {application.settings.upstream or 'embedded: quotes documents, is no language model'}")
