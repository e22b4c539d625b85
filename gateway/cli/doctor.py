"""``earpiece doctor``: what is configured, reachable and missing."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..application import embedder_of_settings
from ..diagnosis import Finding, extra_findings, port_finding, python_finding, shadow_findings, voice_finding
from ..settings import GatewaySettings, InvalidSetting
from .desktop_window import chromium_browser
from .sound.devices import Kind, chosen, devices
from .sound.problem import SoundProblem
from .sound.quiet import quiet_libraries

_SOUND: dict[str, Kind] = {"microphone": "input", "speaker": "output"}
_MARKS = {"fine": "[green]fine[/green]", "missing": "[yellow]missing[/yellow]", "wrong": "[red]wrong[/red]"}


@click.command()
def doctor() -> None:
    """Say what is configured, reachable and missing, and what to do about it.

    Exits 1 when something is wrong; an extra that is not installed is only reported.
    """
    findings = list(_findings())
    table = Table("what", "", "finding")
    for finding in findings:
        table.add_row(escape(finding.name), _MARKS[finding.state], escape(finding.sentence))
    Console().print(table)
    sys.exit(1 if any(finding.state == "wrong" for finding in findings) else 0)


def _findings() -> Iterator[Finding]:
    yield python_finding()
    yield from shadow_findings([".", *sys.path], Path(__file__).resolve().parents[2])
    yield from _settings_findings()
    yield voice_finding()
    yield _window_finding()
    yield from extra_findings()
    yield from _sound_findings()


def _window_finding() -> Finding:
    """Say which browser `earpiece desktop` would open its window with."""
    browser = chromium_browser()
    if browser is None:
        return Finding("window", "missing", "earpiece desktop needs Chromium, Chrome, Edge or Brave")
    return Finding("window", "fine", f"{browser} (earpiece desktop)")


def _sound_findings() -> Iterator[Finding]:
    """Say which microphone and speaker `earpiece chat --voice` would take."""
    try:
        with quiet_libraries():
            found = devices()
    except SoundProblem as problem:
        yield Finding("sound", "missing", str(problem))
        return
    for name, kind in _SOUND.items():
        try:
            device = chosen(kind, "", found)
            yield Finding(name, "fine", f"{device.name} (earpiece chat --voice)")
        except SoundProblem:
            yield Finding(name, "missing", f"this machine has none; earpiece chat goes on without a {name}")


def _settings_findings() -> Iterator[Finding]:
    try:
        settings = GatewaySettings.from_environment()
    except InvalidSetting as error:
        yield Finding("settings", "wrong", str(error))
        return
    yield Finding("settings", "fine", f"listens on {settings.host}, {settings.timeout_seconds:g} s for a lookup")
    yield port_finding(settings.host, settings.port)
    yield _library_finding(settings)
    yield from _embedder_findings(settings.domain_library_embedder)
    yield asyncio.run(_upstream_finding(settings))


def _library_finding(settings: GatewaySettings) -> Finding:
    if settings.domain_library:
        return Finding("library", "fine", "on (EARPIECE_DOMAIN_LIBRARY)")
    return Finding("library", "missing", "off; set EARPIECE_DOMAIN_LIBRARY=on, or serve a folder with --library")


def _embedder_findings(name: str) -> Iterator[Finding]:
    """Say whether the embedder that is set can be taken; a gateway would not start with one that cannot."""
    if name == "off":
        return
    try:
        embedder_of_settings(name)
    except InvalidSetting as error:
        yield Finding("embedder", "wrong", str(error))
    else:
        yield Finding("embedder", "fine", f"{name} (EARPIECE_DOMAIN_LIBRARY_EMBEDDER)")


async def _upstream_finding(settings: GatewaySettings) -> Finding:
    if settings.upstream is None:
        return Finding("model", "fine", "the embedded model; set EARPIECE_UPSTREAM for a language model")
    if settings.upstream.startswith("wss://") and not settings.upstream_key:
        return Finding("model", "wrong", f"{settings.upstream} needs a key: set EARPIECE_UPSTREAM_KEY.")
    address = "http" + settings.upstream.removeprefix("ws")
    try:
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as http, http.get(address, allow_redirects=False):
            return Finding("model", "fine", f"{settings.upstream} is reachable")
    except (aiohttp.ClientError, TimeoutError):
        return Finding("model", "wrong", f"{settings.upstream} cannot be reached from here.")
