"""``earpiece mcp``: the knowledge tool for any MCP client, over a pipe or over HTTP."""

import logging
import socket
import sys
from pathlib import Path

import click

from ..application import GatewayApplication, create_gateway_application
from ..hosts.missing_package import MissingHostPackage
from ..owners import Owners, TokenFile
from ..settings import GatewaySettings
from .complaint import Complaint
from .local_gateway import checked_folder, run
from .running import start_problem
from .serve import named_provider


@click.command()
@click.option("--library", type=click.Path(path_type=Path), help="A folder of documents to answer from.")
@click.option("--provider", help="A retrieval system by name; `earpiece providers` lists them.")
@click.option("--provider-config", type=click.Path(path_type=Path), help="Its settings, a JSON file.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input and output.")
@click.option("--host", help="Where to listen with --http; anything but loopback needs tokens.")
@click.option("--port", type=int, help="The port for --http, 8787 by default.")
@click.option("--tokens-file", type=click.Path(path_type=Path), help="The file of `earpiece token create`.")
def mcp(
    library: Path | None,
    provider: str | None,
    provider_config: Path | None,
    http: bool,
    host: str | None,
    port: int | None,
    tokens_file: Path | None,
) -> None:
    """Offer the knowledge tool to an MCP client, with the bounds and the framing it has for a voice model.

    Without --http it speaks over a pipe, to the program that started it: what it serves is the personal owner's.
    """
    logging.basicConfig(level="WARNING", stream=sys.stderr)  # standard output belongs to the protocol
    if bool(provider) == bool(library):
        raise Complaint("name one source of knowledge: --library FOLDER or --provider NAME.")
    settings = GatewaySettings.from_environment(host=host, port=port, tokens_file=tokens_file)
    mounted = named_provider(provider, provider_config) if provider else None
    folder = checked_folder(library) if library else None
    application = create_gateway_application(mounted, library=folder, settings=settings)
    sys.exit(run(_serve(application, http=http)))


async def _serve(application: GatewayApplication, *, http: bool) -> int:
    try:
        await (_over_http(application) if http else _over_pipe(application))
    except MissingHostPackage as error:
        raise Complaint(f"{error}.") from error
    finally:
        await application.aclose()
    return 0


async def _over_pipe(application: GatewayApplication) -> None:
    from ..hosts.mcp_server import mcp_server

    server = mcp_server(application.tool)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def _over_http(application: GatewayApplication) -> None:
    from ..hosts.mcp_server import mcp_application

    settings = application.settings
    file = TokenFile(settings.tokens_file) if settings.tokens_file else None
    served = mcp_application(
        application.tool, owners=Owners(file=file, hashes=settings.token_hashes), host=settings.host
    )
    import uvicorn

    listener = _listener(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    click.echo(f"MCP  http://{host}:{listener.getsockname()[1]}/mcp", err=True)
    await uvicorn.Server(uvicorn.Config(served, log_level="warning")).serve([listener])


def _listener(host: str, port: int) -> socket.socket:
    """Bind before uvicorn does, which would tell a busy port in words of its own."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise Complaint(start_problem(host, port, error)) from error
