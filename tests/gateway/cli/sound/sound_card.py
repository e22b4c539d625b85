"""A sound card for tests: PulseAudio without hardware. Its microphone says what it is given, its speaker is recorded.

PortAudio reaches it through ALSA's plugin, as it reaches a desktop's sound server. The sinks keep real time.
"""

import asyncio
import ctypes.util
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.gateway.web.browser import installed

RATE = 24_000
_PAUSE_SECONDS = 0.02  # other programs write the files and open the sockets, so they can only be looked at again
_SERVER = """
load-module module-native-protocol-unix auth-anonymous=1 socket={folder}/socket
load-module module-null-sink sink_name=speaker rate=24000 channels=1 format=s16le
load-module module-null-sink sink_name=room rate={microphone_rate} channels=1 format=s16le
set-default-sink speaker
set-default-source room.monitor
"""
_ALSA = """
pcm.default { type pulse server "unix:FOLDER/socket" hint { show on description "Test card" } }
"""
_PULSE = ("--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm", "--log-level=error")


def needs_sound() -> None:
    """Skip, or fail on continuous integration, where the parts of a sound system are not installed."""
    for program in ("pulseaudio", "pacat", "espeak-ng"):
        installed(program)
    if ctypes.util.find_library("portaudio") is None:
        message = "libportaudio2 is not installed; .ci/system-packages installs it"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)


async def until(true: Callable[[], bool]) -> None:
    """Look again until something is so that another program does; the bound is no measure."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_SECONDS)


class SoundCard:
    """One sound system in ``folder``; ``environment`` leads programs to it."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._server: asyncio.subprocess.Process | None = None
        self._recording = folder / "heard.raw"
        self.environment = {
            "ALSA_CONFIG_PATH": str(folder / "asound.conf"),
            "PULSE_SERVER": f"unix:{folder}/socket",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
        }

    async def start(self, microphone_rate: int) -> None:
        """Start the server, the person at the microphone and the listener at the speaker."""
        (self._folder / "asound.conf").write_text(_ALSA.replace("FOLDER", str(self._folder)), encoding="utf-8")
        script = self._folder / "server.pa"
        script.write_text(_SERVER.format(folder=self._folder, microphone_rate=microphone_rate), encoding="utf-8")
        self._server = await self._run("pulseaudio", "-n", "-F", str(script), *_PULSE)
        await until((self._folder / "socket").exists)
        form = ("--raw", "--format=s16le", f"--rate={RATE}", "--channels=1", "--latency-msec=50")
        self._person = await self._run("pacat", "--playback", "--device=room", *form)
        with self._recording.open("wb") as file:
            await self._run("pacat", "--record", "--device=speaker.monitor", *form, stdout=file.fileno())
        await until(lambda: self._recording.stat().st_size > 0)

    async def say(self, pcm: bytes) -> None:
        """Speak into the microphone, then be silent for a second."""
        assert self._person.stdin is not None
        self._person.stdin.write(pcm + bytes(2 * RATE))
        await self._person.stdin.drain()

    def heard(self) -> bytes:
        """All that came out of the speaker, silence included."""
        recording = self._recording.read_bytes()
        return recording[: len(recording) // 2 * 2]

    async def unplug(self) -> None:
        """Take the whole card away."""
        assert self._server is not None
        self._server.kill()
        await self._server.wait()

    async def _run(self, *command: str, stdout: int = asyncio.subprocess.DEVNULL) -> asyncio.subprocess.Process:
        environment = {**os.environ, **self.environment}
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=stdout, stderr=asyncio.subprocess.DEVNULL, env=environment
        )
        self._stack.push_async_callback(_end, process)
        return process


def share_of(sound: bytes, recording: bytes) -> float:
    """Return how much of a sound is in a recording, sample by sample and in order: 1.0 is all of it.

    It is looked for in pieces of 10 ms. On a busy machine a sound server may put a gap between two of them.
    """
    size = 2 * RATE // 100
    pieces = [sound[start : start + size] for start in range(0, len(sound) - size, size)]
    audible = [piece for piece in pieces if any(piece)]
    found, place = 0, 0
    for piece in audible:
        at = recording.find(piece, place)
        if at >= 0:
            found, place = found + 1, at + size
    return found / len(audible)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    await process.wait()


@asynccontextmanager
async def sound_card(folder: Path, *, microphone_rate: int = RATE) -> AsyncIterator[SoundCard]:
    """A running sound card that keeps its things in ``folder``."""
    needs_sound()
    await asyncio.to_thread(folder.mkdir)
    async with AsyncExitStack() as stack:
        card = SoundCard(folder, stack)
        await card.start(microphone_rate)
        yield card


__all__ = ["RATE", "SoundCard", "needs_sound", "share_of", "sound_card", "until"]
