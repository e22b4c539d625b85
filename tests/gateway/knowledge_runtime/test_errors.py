"""Whatever goes wrong is typed, and quotes nobody."""

import asyncio
import logging
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import InvalidRetrievalResult, ProviderRateLimited, ProviderUnavailable
from tests.gateway.knowledge_runtime.provider import Provider, ask


async def test_a_providers_own_error_passes_with_its_code() -> None:
    """Adapters say precisely what went wrong."""
    error = ProviderRateLimited("search", retry_after_seconds=2)
    async with FrontendKnowledgeRuntime(Provider(error)) as runtime:
        with pytest.raises(ProviderRateLimited) as caught:
            await ask(runtime)
    assert caught.value.code == "knowledge_rate_limited"


@pytest.mark.parametrize("raised", [ValueError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, TimeoutError])
async def test_any_other_exception_is_unavailable_without_the_vendors_words(
    raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """The cause is chained for developers, logged by type and place with the trace id, and quoted nowhere."""
    error = raised("https://user:hunter2@vendor.example.com refused api_key=sk-123")
    with caplog.at_level(logging.DEBUG):
        async with FrontendKnowledgeRuntime(Provider(error)) as runtime:
            with pytest.raises(ProviderUnavailable) as caught:
                await ask(runtime, trace_id="trace-7")
    assert type(caught.value) is ProviderUnavailable
    assert caught.value.__cause__ is error
    assert "hunter2" not in str(caught.value) + caplog.text
    assert "sk-123" not in str(caught.value) + caplog.text
    assert "trace-7" in caplog.text
    assert raised.__name__ in caplog.text


@pytest.mark.parametrize("answer", [7, "text", b"bytes", object(), {"hits": []}, [1, None, "text"]])
async def test_an_answer_that_is_no_list_is_a_bad_response(answer: Any) -> None:
    """Junk is typed, and says nothing of itself."""
    async with FrontendKnowledgeRuntime(Provider(answer)) as runtime:
        with pytest.raises(InvalidRetrievalResult):
            await ask(runtime)


@pytest.mark.parametrize("answer", [[{"id": "1"}, {"id": "2", "content": None}], [{"id": "", "content": "a"}], []])
async def test_entries_that_are_no_results_leave_an_empty_answer(answer: Any) -> None:
    """Empty is typed."""
    async with FrontendKnowledgeRuntime(Provider(answer)) as runtime:
        response = await ask(runtime)
    assert (response.status, response.results, response.citations) == ("no_results", (), ())
