"""A window without an address bar: a Chromium browser in its application mode."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

Window = Callable[[str], Awaitable[asyncio.subprocess.Process]]
"""Opens a window on an address; the process ends when the window is closed."""

_ALLOWED = 1
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)


def chromium_browser() -> str | None:
    """Return the path of an installed browser of the Chromium family."""
    named = next(filter(None, map(shutil.which, _NAMES)), None)
    return named or next((place for place in _PLACES if Path(place).exists()), None)


def browser_window(browser: str, profile: Path, flags: Sequence[str] = ()) -> Window:
    """A window of ``browser`` with a profile of its own, in which the gateway's page may use the microphone."""

    async def open_window(url: str) -> asyncio.subprocess.Process:
        await asyncio.to_thread(allow_microphone, profile, url)
        return await asyncio.create_subprocess_exec(
            browser,
            f"--app={url}",
            f"--user-data-dir={profile}",
            "--window-size=1180,780",
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-sync",
            *flags,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    return open_window


def allow_microphone(profile: Path, url: str) -> None:
    """Give the page at ``url``, and no other, the microphone: whoever opens a voice window has decided that."""
    preferences = profile / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True, exist_ok=True)
    settings = _read(preferences)
    exceptions = settings
    for name in ("profile", "content_settings", "exceptions"):
        exceptions = exceptions.setdefault(name, {})
    # Only this one: addresses of gateways that ran before belong to nobody now.
    exceptions["media_stream_mic"] = {f"{url},*": {"setting": _ALLOWED}}
    preferences.write_text(json.dumps(settings), encoding="utf-8")


def _read(preferences: Path) -> dict[str, Any]:
    try:
        settings = json.loads(preferences.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


__all__ = ["Window", "allow_microphone", "browser_window", "chromium_browser"]
