"""``earpiece serve --provider NAME --provider-config FILE --metrics`` as a process, with a package of somebody else."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway.conversation import conversation

ROOT = Path(__file__).resolve().parents[3]
EARPIECE = [sys.executable, "-c", "from gateway.cli import main; main()"]
ACME = """
class Acme:
    def __init__(self, answer):
        self.answer = answer

    def describe(self):
        return {"protocolVersion": 1, "key": "acme", "label": "Acme Search"}

    async def retrieve(self, request, context):
        return [{"id": "1", "content": self.answer}]


def from_config(config):
    return Acme(config["answer"])
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder on the path of Python with a distribution that has a provider by the name "acme"."""
    (tmp_path / "acme_search.py").write_text(ACME)
    metadata = tmp_path / "acme_search-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-search\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[earpiece.providers]\nacme = acme_search:from_config\n")
    return tmp_path


@asynccontextmanager
async def earpiece(installed: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    path = os.pathsep.join((str(ROOT), str(installed)))
    process = await asyncio.create_subprocess_exec(
        *EARPIECE,
        *arguments,
        cwd=installed,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def announced(process: asyncio.subprocess.Process) -> dict[str, str]:
    """What a gateway says once it listens: page, realtime, knowledge, model."""
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode().split(maxsplit=1) for _ in range(4)]
    return {name.lower(): value.strip() for name, value in lines}


async def test_a_provider_of_another_package_answers_and_is_measured(installed: Path) -> None:
    """Named on the command line, configured by a file, asked by a client, counted at /metrics, ended by SIGTERM."""
    config = installed / "acme.json"
    config.write_text(json.dumps({"answer": "Every release needs two reviewers."}))
    options = ("--provider", "acme", "--provider-config", str(config), "--metrics", "--port", "0")
    async with asyncio.timeout(60), earpiece(installed, "serve", *options) as process:
        said = await announced(process)
        assert said["knowledge"] == "Acme Search"
        async with conversation(said["realtime"]) as talk:
            turn = await talk.answer("How many reviewers does a release need?")
        assert "two reviewers" in turn.answer
        async with aiohttp.ClientSession() as http, http.get(f"{said['page']}metrics") as response:
            metrics = await response.text()
        assert response.status == 200
        (count,) = [line for line in metrics.splitlines() if "execute_tool_duration_seconds_count{" in line]
        assert 'earpiece_provider="acme"' in count
        assert count.endswith(" 1.0")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_without_the_option_nothing_is_measured(installed: Path) -> None:
    """The address is not there unless the operator asked for it."""
    config = installed / "acme.json"
    config.write_text(json.dumps({"answer": "Every release needs two reviewers."}))
    options = ("--provider", "acme", "--provider-config", str(config), "--port", "0")
    async with asyncio.timeout(60), earpiece(installed, "serve", *options) as process:
        page = (await announced(process))["page"]
        async with aiohttp.ClientSession() as http, http.get(f"{page}metrics") as response:
            assert response.status == 404


async def test_what_is_installed_is_listed_with_where_it_is_from(installed: Path) -> None:
    """The name to give, and the distribution behind it."""
    async with asyncio.timeout(60), earpiece(installed, "providers") as process:
        listed = (await process.communicate())[0].decode()
    assert any("acme " in line and "acme-search" in line for line in listed.splitlines())
    assert "ragflow" in listed


@pytest.mark.parametrize(
    ("name", "config", "part"),
    [
        ("acmee", "{}", "'acme'"),
        ("acme", '{"token": "sk-s3cret"}', "could not be built"),
        ("http", '{"bearer": "sk-s3cret"}', "'bearer' is not known"),
        ("acme", '["sk-s3cret"]', "JSON object"),
        ("acme", '{"answer": sk-s3cret}', "is not JSON"),
    ],
)
async def test_what_keeps_it_from_starting_is_one_clear_line(
    installed: Path, name: str, config: str, part: str
) -> None:
    """An unknown name, a config that does not fit: the person reads what to mend, and no value of the file."""
    file = installed / "settings.json"
    file.write_text(config)
    options = ("--provider", name, "--provider-config", str(file), "--port", "0")
    async with asyncio.timeout(60), earpiece(installed, "serve", *options) as process:
        complaint = (await process.communicate())[1].decode()
    assert process.returncode == 1
    assert len(complaint.strip().splitlines()) == 1
    assert part in complaint
    assert "s3cret" not in complaint
