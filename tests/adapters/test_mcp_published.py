"""`McpProvider` with two servers from the package index."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.adapters.asking import context_for, request_for
from tests.adapters.mcp_servers import asked

PEERS = Path(__file__).resolve().parents[2] / ".peers"


def peer(name: str) -> str:
    """The command of a server in an environment of its own; absent ones skip here and fail in CI."""
    command = PEERS / name / "bin" / name
    if not command.exists():
        message = f"{name} is not installed: run tests/peers/install_mcp.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return str(command)


@pytest.mark.slow
async def test_a_published_server_answers_with_structured_rows() -> None:
    """compliance-kb-mcp: BM25 over a public catalogue of controls, written for version 1 of the SDK."""
    server = StdioServerParameters(command=peer("compliance-kb-mcp"))
    options: dict[str, Any] = {"top_k_arg": "k", "timeout_seconds": 30.0, "connect_seconds": 25.0}
    async with asyncio.timeout(60), asked(server, "search_controls", **options) as provider:
        assert (await provider.health()).ok
        found = await provider.retrieve(
            request_for("account lockout after failed logins", top_k=3), context_for(seconds=50)
        )
    assert len(found) == 3
    assert all(result.source.title and len(result.content) > 40 for result in found)


@pytest.mark.slow
async def test_a_published_server_answers_in_prose(tmp_path: Path) -> None:
    """agents-docs: headings and text as prose, and "nothing found" as success."""
    command = peer("agents-docs")
    docs = tmp_path / ".agents" / "docs" / "handbook"
    docs.mkdir(parents=True)
    (docs / "releases.md").write_text("# Releases\n\n## Approval\n\nReleases require two reviewers.\n")
    server = StdioServerParameters(command=command, args=["serve"], env={"HOME": str(tmp_path)})
    options: dict[str, Any] = {
        "text_fallback": True,
        "empty_text": lambda text: text.startswith("No matching"),
        "timeout_seconds": 30.0,
        "connect_seconds": 25.0,
    }
    async with asyncio.timeout(60), asked(server, "search_docs", **options) as provider:
        (found,) = await provider.retrieve(request_for("release reviewers"), context_for(seconds=50))
        assert "Releases require two reviewers." in found.content
        assert found.score is None  # it stands in the prose alone, and is not guessed from there
        assert await provider.retrieve(request_for("xylophone"), context_for(seconds=50)) == []
