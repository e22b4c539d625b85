"""PortAudio, through the ``sounddevice`` package: loaded when first needed, and called by one thread at a time."""

import atexit
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from .problem import SoundProblem

_PACKAGE = "Speaking needs the 'sounddevice' package: pip install \"earpiece[audio]\"."
_LIBRARY = (
    "Speaking needs the PortAudio library, which is not on this machine: "
    "apt install libportaudio2 (Debian, Ubuntu), dnf install portaudio (Fedora)."
)
_SYSTEM = "The sound system of this machine cannot be used: PortAudio does not get along with it."
_HANGS = "The sound system hangs. Start the chat again to speak; typing goes on."
_PATIENCE_SECONDS = 2.0

# PortAudio is not made for several threads, and microphone and speaker may go away at the same time.
_lock = threading.Lock()


@contextlib.contextmanager
def alone() -> Iterator[Any]:
    """Yield the ``sounddevice`` module to one thread at a time; its errors become a `SoundProblem`.

    PortAudio waits forever for a stream of which the sound server has died; whoever comes later is told so.
    """
    sounddevice = _library()
    if not _lock.acquire(timeout=_PATIENCE_SECONDS):
        raise SoundProblem(_HANGS)
    try:
        yield sounddevice
    except sounddevice.PortAudioError as error:
        raise SoundProblem(_SYSTEM) from error
    finally:
        _lock.release()


def look_again() -> None:
    """Let PortAudio look for devices, which it does only as it starts. No stream may be open. Raises `SoundProblem`."""
    with alone() as sounddevice:
        while sounddevice._initialized:
            sounddevice._terminate()
        sounddevice._initialize()


def hangs() -> bool:
    """Say whether a call does not come back. Its threads then crash an orderly end of the process. Waits a moment."""
    if not _lock.acquire(timeout=_PATIENCE_SECONDS):
        return True
    _lock.release()
    return False


def _library() -> Any:
    try:
        import sounddevice
    except ImportError as error:
        raise SoundProblem(_PACKAGE) from error
    except OSError as error:
        raise SoundProblem(_LIBRARY) from error
    except Exception as error:  # PortAudio could not start; its own error has no name yet
        raise SoundProblem(_SYSTEM) from error
    # A sound server that hangs must not keep the process from ending.
    atexit.unregister(sounddevice._exit_handler)
    return sounddevice


__all__ = ["alone", "hangs", "look_again"]
