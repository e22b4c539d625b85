"""A gateway on a free loopback port over a folder of documents, for commands that need one for a moment."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ..application import GatewayApplication, create_gateway_application
from ..settings import GatewaySettings
from .complaint import Complaint


def checked_folder(path: Path) -> Path:
    """Return the folder, or complain in one sentence about what is wrong with it."""
    if not path.exists():
        raise Complaint(f"{path} does not exist. Name a folder of documents with --library.")
    if not path.is_dir():
        raise Complaint(f"{path} is not a folder. Name the folder that holds it with --library.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise Complaint(f"{path} cannot be read by this user. Name another folder with --library.")
    if not any(path.iterdir()):
        raise Complaint(f"{path} is empty. Put documents into it, or name another folder with --library.")
    return path


@asynccontextmanager
async def local_gateway(documents: Path, settings: GatewaySettings | None = None) -> AsyncIterator[GatewayApplication]:
    """Serve the documents from a temporary library with the embedded model; everything is gone afterwards."""
    checked_folder(documents)
    with tempfile.TemporaryDirectory(prefix="earpiece-") as store:
        chosen = settings or GatewaySettings(port=0)
        async with create_gateway_application(settings=chosen, library=documents, store=Path(store)) as gateway:
            yield gateway


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine on uvloop where it exists; returns its exit status."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


__all__ = ["checked_folder", "local_gateway", "run"]
