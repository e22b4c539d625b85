"""A gateway that runs until somebody stops it: with Ctrl-C, with SIGTERM, or by what the command itself waits for."""

import asyncio
import errno
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..application import GatewayApplication
from .complaint import Complaint


@asynccontextmanager
async def running(application: GatewayApplication) -> AsyncIterator[asyncio.Event]:
    """Start the gateway and yield the event that a signal sets; it is closed on leaving. Complains of a busy port."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await application.start()
    except OSError as error:
        settings = application.settings
        raise Complaint(start_problem(settings.host, settings.port, error)) from error
    try:
        yield stop
    finally:
        await application.aclose()


def start_problem(host: str, port: int, error: OSError) -> str:
    """One sentence on why nothing listens at this place."""
    place = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{place} is busy. Another gateway may be running; choose another with --port."
    return f"cannot listen on {place}: {error.strerror or error}."


__all__ = ["running", "start_problem"]
