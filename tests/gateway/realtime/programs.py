"""Programs that others wrote, and whether they are here."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / ".peers"


def needs(name: str) -> None:
    """Skip, or fail where everything is to be tested, when a peer is not installed."""
    if not (PEERS / name / "complete").exists():
        missing(f"{name} is not installed: run tests/peers/install_realtime.sh")


def needs_espeak() -> None:
    """The same for the synthetic voice."""
    if shutil.which("espeak-ng") is None:
        missing("espeak-ng is not installed; .ci/system-packages installs it")


def missing(message: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


async def printed(*command: str, cwd: Path = ROOT) -> tuple[str, str]:
    """Run a program to its end, which must be a good one; returns what it printed and what it complained of."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(60):
            output, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    return output.decode().strip(), complaints.decode()
