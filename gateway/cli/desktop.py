"""``earpiece desktop``: the page in a window of its own, with a gateway that starts and ends with it."""

import asyncio
import os
import sys
from pathlib import Path

import click
import platformdirs

from ..application import GatewayApplication, create_gateway_application
from ..settings import GatewaySettings
from .complaint import Complaint
from .desktop_window import Window, browser_window, chromium_browser
from .local_gateway import checked_folder, run
from .running import running


@click.command()
@click.option("--library", type=click.Path(path_type=Path), help="A folder of documents; without it your own library.")
@click.option("--upstream", help="The realtime model, a ws:// or wss:// address; without it the embedded model.")
@click.option("--port", type=int, default=0, help="The gateway's port; a free one by default.")
def desktop(library: Path | None, upstream: str | None, port: int) -> None:
    """Open the page in a window of its own. Closing the window ends the gateway, and the other way round.

    It needs Chromium, Chrome, Edge or Brave.
    """
    settings = GatewaySettings.from_environment(port=port, upstream=upstream, domain_library=True, drain_seconds=1.0)
    opener = _opener()
    folder = checked_folder(library) if library else None
    sys.exit(run(_desktop(create_gateway_application(library=folder, settings=settings), opener)))


def _opener() -> Window:
    browser = chromium_browser()
    if browser is None:
        raise Complaint(
            "a window needs Chromium, Chrome, Edge or Brave, and none was found. "
            "The page itself opens in any browser: earpiece serve"
        )
    profile = Path(platformdirs.user_data_dir("earpiece")) / "desktop"
    return browser_window(browser, profile, os.environ.get("EARPIECE_BROWSER_FLAGS", "").split())


async def _desktop(application: GatewayApplication, window: Window) -> int:
    async with running(application) as stop:
        click.echo(f"Window on {application.http_url}/", err=True)
        return await _until_closed(window, application.http_url, stop)


async def _until_closed(window: Window, url: str, stop: asyncio.Event) -> int:
    process = await window(url)
    closing = asyncio.create_task(process.wait())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({closing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if closing.done() and closing.result() != 0:
            raise Complaint(f"the window could not be opened (its program ended with status {closing.result()}).")
    finally:
        stopping.cancel()
        if process.returncode is None:
            process.terminate()
            await closing
    return 0


__all__ = ["desktop"]
