"""``earpiece mcp`` serves a real MCP client over a pipe."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

EARPIECE = str(Path(sys.executable).with_name("earpiece"))


async def test_a_client_that_starts_the_command_finds_the_documents(tmp_path: Path) -> None:
    """Nothing but the protocol is on standard output, and the index goes to the user's cache."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "releases.md").write_text("# Releases\n\nEvery release needs two reviewers.\n")
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    server = StdioServerParameters(command=EARPIECE, args=["mcp", "--library", str(documents)], env=environment)
    async with asyncio.timeout(60), Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        result = await client.call_tool(tool.name, {"query": "How many reviewers does a release need?"})
    (text,) = (part.text for part in result.content if part.type == "text")
    assert "two reviewers" in json.loads(text)["results"][0]["content"]


@pytest.mark.parametrize("options", [[], ["--library", ".", "--provider", "http"]], ids=["none", "two"])
def test_it_wants_one_source(options: list[str]) -> None:
    """What can be mended is said in one line on stderr."""
    finished = subprocess.run([EARPIECE, "mcp", *options], capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 1
    assert "--library FOLDER or --provider NAME" in finished.stderr
    assert finished.stderr.count("\n") == 1
