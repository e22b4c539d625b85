"""`HttpProvider` against a real service on loopback: what it sends, and whose choice the options are."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from adapters.http_service import HttpProvider, from_config
from knowledge_provider import ProviderContractError, RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, request_for
from tests.adapters.http_provider import ROW, provider
from tests.adapters.loopback import Loopback

pytestmark = pytest.mark.usefixtures("closed_afterwards")


async def test_the_canonical_request_carries_both_objects_apart(service: Loopback) -> None:
    """What the model said and who asks are two members of the body; the answer is the contract's own shape."""
    service.replies({"results": [ROW]})
    company = provider(service.url, filters=True, headers={"Authorization": "Bearer s3cret"})
    (result,) = await company.retrieve(
        request_for("policy", top_k=3, knowledge_base_ids=("eng",), filters={"team": "a"}), context_for("ann")
    )
    assert service.bodies == [
        {
            "protocolVersion": 1,
            "request": {"query": "policy", "topK": 3, "knowledgeBaseIds": ["eng"], "filters": {"team": "a"}},
            "context": {"ownerId": "ann", "sessionId": "s-1", "turnId": "t-1", "traceId": "trace-1"},
        }
    ]
    assert service.requests[0].headers["Authorization"] == "Bearer s3cret"
    assert result.id == "chunk-42"
    assert result.score == 0.91
    assert result.source.mime_type == "text/markdown"
    assert result.metadata == {"department": "engineering"}


async def test_build_and_rows_translate_any_other_service(service: Loopback) -> None:
    """Two functions are all it takes for a service with a shape of its own."""
    service.replies({"answer": {"found": [{"text": "Two reviewers.", "url": "https://docs.example.com/a", "page": 7}]}})
    company = provider(
        service.url,
        build=lambda request, context: {"q": request.query, "tenant": context.owner_id},
        rows=lambda answer: answer["answer"]["found"],
    )
    (result,) = await company.retrieve(request_for("policy"), context_for("ann"))
    assert service.bodies == [{"q": "policy", "tenant": "ann"}]
    assert result.content == "Two reviewers."
    assert (result.source.uri, result.source.locator) == ("https://docs.example.com/a", "page=7")
    assert result.score is None


async def test_two_owners_asking_at_once_never_see_each_other(service: Loopback) -> None:
    """Headers and body of each call are made from its own trusted context, also with a hundred in flight."""
    together = asyncio.Barrier(100)

    async def answer(request: web.Request, body: Any) -> web.StreamResponse:
        await together.wait()
        owner = body["context"]["ownerId"]
        assert request.headers["X-Tenant"] == owner
        assert "Cookie" not in request.headers
        return web.json_response([{"id": owner, "content": owner}], headers={"Set-Cookie": f"session={owner}"})

    async def headers(context: Any) -> dict[str, str]:
        return {"X-Tenant": context.owner_id}

    service.answer = answer
    company = provider(service.url, headers=headers)
    owners = ["ann", "bob"] * 50
    async with asyncio.timeout(20):
        for _ in range(2):  # the second time would bring a session cookie along
            calls = [company.retrieve(request_for(), context_for(owner, seconds=15)) for owner in owners]
            answers = await asyncio.gather(*calls)
            assert [[result.id for result in results] for results in answers] == [[owner] for owner in owners]


async def test_min_score_and_score_kind_are_the_hosts_choice(service: Loopback) -> None:
    """Scores pass raw, beyond one too; a distance is no score; a threshold drops what has none."""
    service.replies([{"id": str(n), "content": "x", "score": score} for n, score in enumerate((48.17, 0.0, -1, None))])
    raw, above, distance = (
        provider(service.url),
        provider(service.url, min_score=0.5),
        provider(service.url, score_kind="distance"),
    )
    assert [result.score for result in await raw.retrieve(request_for(), context_for())] == [48.17, 0.0, -1.0, None]
    assert [result.score for result in await above.retrieve(request_for(), context_for())] == [48.17]
    assert {result.score for result in await distance.retrieve(request_for(), context_for())} == {None}
    with pytest.raises(ValueError, match="distance"):
        provider(service.url, score_kind="distance", min_score=0.5)


async def test_filters_are_refused_unless_the_service_applies_them(service: Loopback) -> None:
    """A filter is passed on or refused, never dropped; one that JSON cannot hold is the caller's fault."""
    service.replies([])
    with pytest.raises(UnsupportedFilters):
        await provider(service.url).retrieve(request_for(filters={"a": 1}), context_for())
    company = provider(service.url, filters=True)
    with pytest.raises(RetrievalError) as caught:
        await company.retrieve(request_for(filters={"a": float("nan")}), context_for())
    assert caught.value.code == "knowledge_invalid_request"
    assert service.requests == []


async def test_health_asks_the_url_it_was_given(service: Loopback) -> None:
    """Without a URL the provider is ready; with one it is what the service answers, in our words."""
    service.replies({"fine": True})
    company = provider(service.url, health_url=f"{service.url}/health")
    assert (await company.health()).status == "ready"
    service.replies("password=hunter2", 500)
    health = await company.health()
    assert health.status == "unavailable"
    assert "hunter2" not in health.message
    assert (await provider(service.url).health()).ok


def test_a_config_names_unknown_keys_and_takes_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret written into the file is refused by its key and never shown."""
    base = {"key": "company", "label": "Company", "url": "https://search.example.com"}
    with pytest.raises(ProviderContractError, match="'api_key' is not known") as caught:
        from_config({**base, "api_key": "sk-s3cret"})
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ProviderContractError, match="'COMPANY_TOKEN'"):
        from_config({**base, "bearer_token_env": "COMPANY_TOKEN"})
    with pytest.raises(ProviderContractError, match="'url' is missing"):
        from_config({"key": "company", "label": "Company"})
    monkeypatch.setenv("COMPANY_TOKEN", "sk-s3cret")
    company = from_config({**base, "bearer_token_env": "COMPANY_TOKEN", "headers_env": {"X-Key": "COMPANY_TOKEN"}})
    assert company._headers == {"Authorization": "Bearer sk-s3cret", "X-Key": "sk-s3cret"}
    assert company.describe().key == "company"


def test_wrong_options_fail_at_composition() -> None:
    """What could not hold later is refused when the provider is built."""
    with pytest.raises(ValueError, match="http://"):
        HttpProvider("ftp://example.com", key="a", label="A")
    with pytest.raises(ValueError, match="trust_env"):
        HttpProvider("https://example.com", key="a", label="A", allow_private=False, trust_env=True)
