"""``earpiece chat``: talk to a running gateway from a terminal."""

import os
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import click

from ..settings import DEFAULT_PORT
from .complaint import Complaint
from .local_gateway import run
from .sound.devices import devices
from .sound.portaudio import hangs
from .sound.problem import SoundProblem
from .sound.quiet import quiet_libraries
from .sound.voice import VoiceChoice
from .sound.words import device_line

DEFAULT_URL = f"ws://127.0.0.1:{DEFAULT_PORT}/v1/realtime"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a gateway is: its websocket, its HTTP side, and the token to come in with."""

    websocket: str
    http: str
    token: str


def address_of(url: str, token: str) -> Address:
    """Take ``ws://host:port/v1/realtime`` or ``http://host:port`` and return both sides. Raises `Complaint`."""
    parts = urlsplit(url)
    schemes = {"ws": "http", "wss": "https", "http": "http", "https": "https"}
    if parts.scheme not in schemes or not parts.netloc:
        raise Complaint(f"{url!r} is no address of a gateway. Give one such as {DEFAULT_URL}.")
    scheme = schemes[parts.scheme]
    path = parts.path if parts.path.strip("/") else "/v1/realtime"
    websocket = urlunsplit(("wss" if scheme == "https" else "ws", parts.netloc, path, "", ""))
    return Address(websocket, f"{scheme}://{parts.netloc}", token)


@click.command()
@click.option("--url", default=DEFAULT_URL, show_default=True, help="The gateway, a ws:// or http:// address.")
@click.option("--token", envvar="EARPIECE_TOKEN", default="", help="Access token; better in EARPIECE_TOKEN.")
@click.option("--plain", is_flag=True, help="Lines instead of a screen: for pipes and screen readers.")
@click.option("--voice", is_flag=True, help="Begin with microphone and speaker on.")
@click.option("--headphones", is_flag=True, help="Keep the microphone open while an answer is spoken.")
@click.option("--input-device", default="", metavar="DEVICE", help="The microphone, by number or name.")
@click.option("--output-device", default="", metavar="DEVICE", help="The speaker, by number or name.")
@click.option("--list-devices", is_flag=True, help="Name the microphones and speakers, and end.")
def chat(
    url: str,
    token: str,
    plain: bool,
    voice: bool,
    headphones: bool,
    input_device: str,
    output_device: str,
    list_devices: bool,
) -> None:
    """Ask a running gateway, and read or hear the answers with their sources.

    Ctrl-C stops an answer; /help lists what else can be done. Start a gateway with: earpiece serve
    """
    if list_devices:
        click.echo(_device_lines())
        return
    address = address_of(url, token)
    choice = VoiceChoice(input_device, output_device, headphones=headphones, from_start=voice)
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        from .chat_plain import chat_in_lines

        with quiet_libraries():
            sys.exit(_checked_end(run(chat_in_lines(address, choice))))
    _require_textual()
    from .chat_app import ChatApp

    with quiet_libraries():
        app = ChatApp(address, choice)
        app.run()
        sys.exit(_checked_end(app.return_code or 0))


def _checked_end(status: int) -> int:
    """Return the status with which to end; where the sound system hangs the process ends here, for it would crash."""
    if hangs():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def _device_lines() -> str:
    try:
        with quiet_libraries():
            found = devices()
    except SoundProblem as problem:
        raise Complaint(str(problem)) from problem
    return "\n".join(map(device_line, found)) or "There is neither a microphone nor a speaker on this machine."


def _require_textual() -> None:
    try:
        import textual  # noqa: F401
    except ImportError as error:
        raise Complaint(
            "the chat's screen needs the 'textual' package: pip install 'earpiece[terminal]'. "
            "Without it: earpiece chat --plain"
        ) from error


__all__ = ["DEFAULT_URL", "Address", "address_of", "chat"]
