"""`McpProvider` with a real MCP server: what it asks, and what it makes of the answers."""

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from adapters.mcp import CODES, from_config, mcp_failure
from knowledge_provider import ProviderContractError, RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, everything_about, request_for, subclasses_of
from tests.adapters.mcp_servers import STDIO, asked
from tests.adapters.search_server import make_server


@pytest.mark.parametrize("tool", ["search", "wrapped", "nested", "json_text"])
async def test_rows_are_found_in_every_shape(tool: str) -> None:
    """Lists come wrapped, nested, or as JSON inside text; rows keep id, title, text and raw score."""
    async with asked(make_server(), tool) as provider:
        first, second = await provider.retrieve(request_for(), context_for())
    assert (first.id, first.content, first.score) == ("release-1", "Releases require two reviewers.", 48.17)
    assert first.source.title == "Releases"
    assert (second.id, second.score) == ("travel-1", 0.0)


async def test_strings_and_single_rows_are_results_too() -> None:
    """A tool that answers with plain strings, or with one object that has text."""
    async with asked(make_server(), "strings") as provider:
        assert len(await provider.retrieve(request_for(), context_for())) == 2
    async with asked(make_server(), "one") as provider:
        (result,) = await provider.retrieve(request_for(), context_for())
        assert (result.source.title, result.content) == ("Releases", "Releases require two reviewers.")


async def test_prose_is_taken_only_when_the_host_says_so() -> None:
    """An error or "nothing found" is prose as well; the host knows how its server says it."""
    async with asked(make_server(), "prose") as strict:
        with pytest.raises(RetrievalError, match="text_fallback is off"):
            await strict.retrieve(request_for(), context_for())
    async with asked(make_server(), "prose", text_fallback=True, empty_text=lambda t: t.startswith("No ")) as prose:
        assert len(await prose.retrieve(request_for(), context_for())) == 1
        assert await prose.retrieve(request_for("nothing"), context_for()) == []


async def test_min_score_is_the_hosts_choice() -> None:
    """The second row scored nothing and is not spoken."""
    async with asked(make_server(), min_score=0.1) as provider:
        (result,) = await provider.retrieve(request_for(), context_for())
        assert result.id == "release-1"


@pytest.mark.parametrize("server", ["memory", "stdio"])
async def test_two_owners_asking_at_once_never_see_each_other(server: str) -> None:
    """Arguments of the trusted context win over everything else, with a hundred calls on one session."""
    scoped: dict[str, Any] = {
        "top_k_arg": "top_k",
        "static_args": {"owner": "nobody"},
        "timeout_seconds": 60.0,
        "connect_seconds": 30.0,
    }
    target = make_server() if server == "memory" else STDIO
    async with asked(target, owner_arguments=lambda context: {"owner": context.owner_id}, **scoped) as provider:
        owners = ["ann", "bob"] * 50
        calls = (provider.retrieve(request_for(), context_for(owner, seconds=60)) for owner in owners)
        answers = await asyncio.gather(*calls)
    assert [[result.metadata["owner"] for result in found] for found in answers] == [[owner] for owner in owners]


async def test_filters_need_an_argument_of_the_tool() -> None:
    """Servers ignore arguments they do not know, so a filter would be lost without a word."""
    async with asked(make_server()) as provider:
        with pytest.raises(UnsupportedFilters):
            await provider.retrieve(request_for(filters={"owner": "ann"}), context_for())
    async with asked(make_server(), filters_arg="where") as provider:
        assert (await provider.health()).status == "unconfigured"
        with pytest.raises(RetrievalError, match="takes no 'where'"):
            await provider.retrieve(request_for(filters={"owner": "ann"}), context_for())


async def test_a_missing_tool_is_unconfigured() -> None:
    """It is seen when connecting, and told to whoever operates the gateway."""
    async with asked(make_server(), "delete_everything") as provider:
        health = await provider.health()
        assert health.status == "unconfigured"
        assert "'delete_everything'" in health.message
        with pytest.raises(RetrievalError) as caught:
            await provider.retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_unconfigured"


@pytest.mark.parametrize(("tool", "code"), [("fails", "knowledge_bad_response"), ("count", "knowledge_bad_response")])
async def test_an_error_of_the_tool_is_typed_without_its_text(tool: str, code: str) -> None:
    """Tools put their exception's text, passwords included, into the answer."""
    async with asked(make_server(), tool) as provider:
        with pytest.raises(RetrievalError) as caught:
            await provider.retrieve(request_for(), context_for())
    assert caught.value.code == code
    assert "hunter2" not in everything_about(caught.value)


def vendor_exceptions() -> list[type[Exception]]:
    kinds = [kind for kind in subclasses_of(Exception) if kind.__module__.startswith(("mcp.client", "mcp.shared"))]
    return [kind for kind in kinds if not issubclass(kind, Warning)]


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_is_translated(kind: type[Exception]) -> None:
    """Whatever the client raises becomes one of ours; its text reaches nothing of ours."""
    error = kind.__new__(kind)
    Exception.__init__(error, "token=s3cret")
    ours = mcp_failure(ExceptionGroup("unhandled", [error]), "mcp") if not hasattr(error, "error") else None
    assert ours is not None or isinstance(error, MCPError)
    if ours is not None:
        assert "s3cret" not in everything_about(ours)


@pytest.mark.parametrize("code", [*CODES, -1])
def test_every_code_of_the_protocol_is_one_of_ours(code: int) -> None:
    """A code that is not in the table is an internal failure and never passes untranslated."""
    ours = mcp_failure(MCPError(code, "password=hunter2", {"token": "s3cret"}), "mcp")
    assert ours is not None
    assert type(ours) is type(CODES[code]("mcp")) if code in CODES else ours.code == "knowledge_internal"
    assert "hunter2" not in everything_about(ours)


def test_a_config_names_a_command_or_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly one of the two; the child gets the variables it was promised and no others."""
    base = {"key": "mcp", "label": "MCP", "tool": "search"}
    for wrong in (base, {**base, "url": "http://x.example", "command": "x"}):
        with pytest.raises(ProviderContractError, match="one of 'url' and 'command'"):
            from_config(wrong)
    with pytest.raises(ProviderContractError, match="'SEARCH_KEY'"):
        from_config({**base, "command": "x", "env_from": {"KEY": "SEARCH_KEY"}})
    monkeypatch.setenv("SEARCH_KEY", "s3cret")
    assert from_config({**base, "command": "x", "env_from": {"KEY": "SEARCH_KEY"}}).describe().key == "mcp"
    assert from_config({**base, "url": "http://x.example/mcp", "headers_env": {"X-Key": "SEARCH_KEY"}})
