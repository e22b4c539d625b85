"""``earpiece token``: create, list and revoke the tokens that stand for owners."""

import os
from pathlib import Path

import click
import platformdirs

from .owners import InvalidOwners, TokenFile


def default_token_file() -> Path:
    """Return where tokens are kept unless EARPIECE_TOKENS_FILE says otherwise."""
    return Path(
        os.environ.get("EARPIECE_TOKENS_FILE") or Path(platformdirs.user_config_dir("earpiece")) / "tokens.json"
    )


_file = click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=default_token_file,
    show_default="EARPIECE_TOKENS_FILE, or tokens.json in the user's configuration folder",
    help="The file that holds the hashes of the tokens.",
)


@click.group()
def token() -> None:
    """Create, list and revoke access tokens. A token stands for one owner; only its hash is kept."""


@token.command()
@click.argument("owner")
@_file
def create(owner: str, path: Path) -> None:
    """Create a token for OWNER and print it, once."""
    try:
        kept, secret = TokenFile(path).create(owner)
    except InvalidOwners as problem:
        raise click.ClickException(str(problem)) from problem
    click.echo(secret)
    click.echo(f"This is token {kept.id} of {owner}; it is not shown again.", err=True)
    click.echo(f"Start the gateway with EARPIECE_TOKENS_FILE={path}", err=True)
    click.echo(f"or, without the file, with EARPIECE_TOKENS={kept.owner}:{kept.hash}", err=True)


@token.command("list")
@_file
def list_tokens(path: Path) -> None:
    """List the tokens: id, owner, and when each was created."""
    try:
        tokens = TokenFile(path).tokens()
    except InvalidOwners as problem:
        raise click.ClickException(str(problem)) from problem
    for kept in tokens:
        click.echo(f"{kept.id}  {kept.created}  {kept.owner}")
    if not tokens:
        click.echo("No tokens. Create one with: earpiece token create OWNER", err=True)


@token.command()
@click.argument("token_id")
@_file
def revoke(token_id: str, path: Path) -> None:
    """Revoke the token TOKEN_ID. A running gateway refuses it from its next request on."""
    try:
        found = TokenFile(path).revoke(token_id)
    except InvalidOwners as problem:
        raise click.ClickException(str(problem)) from problem
    if not found:
        raise click.ClickException(f"There is no token {token_id!r}. See: earpiece token list")
    click.echo(f"Token {token_id} is revoked.")


__all__ = ["default_token_file", "token"]
