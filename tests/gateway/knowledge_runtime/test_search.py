"""One search, from the request to the cited answer."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import ProviderContractError, ProviderUnconfigured, RetrievalContext, RetrievalRequest
from tests.gateway.knowledge_runtime.provider import PASSAGE, Provider, ask


async def test_a_search_returns_cited_results_framed_as_data() -> None:
    """The whole line, once: request, one call, normalization, citation, notice."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await ask(runtime, " release policy ", top_k=3)
    assert (response.status, response.query, response.more) == ("ok", "release policy", 0)
    assert response.results[0].content == "Releases need two reviewers."
    assert response.results[0].citation == "source_1" == response.citations[0].id
    assert response.notice


async def test_the_provider_gets_request_and_context_apart() -> None:
    """What was asked and who asks never share an object, and the deadline is the runtime's."""
    provider = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}])
    before = time.monotonic()
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=2) as runtime:
        await ask(
            runtime,
            session_id="s",
            turn_id="t",
            trace_id="x",
            knowledge_base_ids=["eng"],
            filters={"year": 2026},
            top_k=2,
        )
    request, context = provider.calls[0]
    assert request == RetrievalRequest(
        query="release policy", top_k=2, knowledge_base_ids=("eng",), filters={"year": 2026}
    )
    assert (context.owner_id, context.session_id, context.turn_id, context.trace_id) == ("ann", "s", "t", "x")
    assert before + 2 <= context.deadline <= time.monotonic() + 2
    assert not context.cancelled.is_set()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Home and working directory; the test leaves nothing in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("folder")
async def test_without_a_provider_there_is_nothing() -> None:
    """No capabilities, unconfigured health, a typed error, nothing on disk (seed 1)."""
    async with FrontendKnowledgeRuntime() as runtime:
        assert runtime.capabilities() == {}
        assert runtime.describe() is None
        assert (await runtime.health()).status == "unconfigured"
        with pytest.raises(ProviderUnconfigured):
            await ask(runtime)


async def test_a_citation_keeps_its_number_within_a_turn_only() -> None:
    """The same page is the same source in a turn, and numbering starts anew in the next."""
    other = {"id": "2", "content": "b", "source": {"uri": "https://docs.example.com/other"}}
    provider = Provider([other])
    async with FrontendKnowledgeRuntime(provider) as runtime:
        first = await ask(runtime, "one", turn_id="t")
        provider.answer = [PASSAGE, other]
        second = await ask(runtime, "two", turn_id="t")
        third = await ask(runtime, "two", turn_id="u")
    assert [result.citation for result in first.results] == ["source_1"]
    assert [result.citation for result in second.results] == ["source_2", "source_1"]
    assert [result.citation for result in third.results] == ["source_1", "source_2"]


@pytest.mark.parametrize("isolation", ["task", "thread"])
async def test_a_plain_retrieve_runs_in_a_thread(isolation: Any) -> None:
    """A provider need not be asynchronous."""
    threads: list[int] = []

    class Plain(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            threads.append(threading.get_ident())
            return [PASSAGE]

    async with FrontendKnowledgeRuntime(Plain(), isolation=isolation) as runtime:
        assert (await ask(runtime)).status == "ok"
    assert threads
    assert threading.get_ident() not in threads


async def test_a_plain_retrieve_may_return_something_to_await() -> None:
    """Many providers hand on the coroutine of their client."""

    class HandsOn(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return super().retrieve(request, context)

    provider = HandsOn()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        assert (await ask(runtime)).status == "ok"
    assert len(provider.calls) == 1


def test_a_wrong_provider_fails_when_it_is_mounted() -> None:
    """Composition, not a voice turn."""
    with pytest.raises(ProviderContractError):
        FrontendKnowledgeRuntime(object())  # type: ignore[arg-type]
