"""`dify_provider` against a loopback service with the shape that Dify's page describes."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from adapters.dify import ERROR_CODES, dify_provider, from_config
from adapters.http_service import HttpProvider
from knowledge_provider import KnowledgeNotFound, ProviderContractError, RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, everything_about, request_for
from tests.adapters.http_client import closed_later
from tests.adapters.loopback import Loopback

pytestmark = pytest.mark.usefixtures("closed_afterwards")

RECORDS = {
    "records": [
        {
            "content": "Two reviewers.",
            "score": 0.98,
            "title": "releases.txt",
            "metadata": {"path": "s3://dify/releases.txt", "description": "how to release"},
        },
        {"content": "By the office.", "score": 0.66, "title": "travel.txt", "metadata": None},
        {"content": "", "score": 0.6, "title": "empty.txt"},
    ]
}


def provider(service: Loopback, knowledge_id: Any = "kb-1", **options: Any) -> HttpProvider:
    url = f"{service.url}/retrieval"
    return closed_later(dify_provider(url, knowledge_id, key="dify", label="Dify", api_key="s3cret", **options))


def condition(name: str, value: str) -> dict[str, Any]:
    return {
        "logical_operator": "and",
        "conditions": [{"name": [name], "comparison_operator": "is", "value": value}],
    }


async def test_records_become_results(service: Loopback) -> None:
    """The request is the documented one; an address that is no link becomes a locator."""
    service.replies(RECORDS)
    dify = provider(service, score_threshold=0.5)
    first, second = await dify.retrieve(request_for("policy", top_k=3), context_for())
    assert service.bodies == [
        {"knowledge_id": "kb-1", "query": "policy", "retrieval_setting": {"top_k": 3, "score_threshold": 0.5}}
    ]
    assert service.requests[0].headers["Authorization"] == "Bearer s3cret"
    assert (first.content, first.score, first.source.title) == ("Two reviewers.", 0.98, "releases.txt")
    assert (first.source.uri, first.source.locator) == (None, "s3://dify/releases.txt")
    assert second.metadata == {"title": "travel.txt"}


async def test_two_owners_asking_at_once_never_see_each_other(service: Loopback) -> None:
    """The knowledge base and the conditions are made from each call's own context."""
    together = asyncio.Barrier(100)

    async def answer(_: web.Request, body: Any) -> web.StreamResponse:
        await together.wait()
        owner = body["knowledge_id"]
        assert body["metadata_condition"]["conditions"][0]["value"] == owner
        return web.json_response({"records": [{"content": owner, "score": 1, "title": owner}]})

    service.answer = answer
    dify = provider(
        service,
        lambda context: context.owner_id,
        filters=True,
        owner_filters=lambda context: condition("owner", context.owner_id),
        timeout_seconds=20.0,
    )
    owners = ["ann", "bob"] * 50
    async with asyncio.timeout(20):
        calls = (dify.retrieve(request_for(), context_for(owner, seconds=15)) for owner in owners)
        answers = await asyncio.gather(*calls)
    assert [[result.content for result in found] for found in answers] == [[owner] for owner in owners]


async def test_filters_are_joined_or_refused(service: Loopback) -> None:
    """Those of the owner and of the request must both hold; off unless the host says the service applies them."""
    service.replies(RECORDS)
    with pytest.raises(UnsupportedFilters):
        await provider(service).retrieve(request_for(filters=condition("a", "b")), context_for())
    dify = provider(service, filters=True, owner_filters=lambda context: condition("owner", context.owner_id))
    await dify.retrieve(request_for(filters=condition("year", "2026")), context_for())
    sent = service.bodies[0]["metadata_condition"]
    assert sent == {
        "logical_operator": "and",
        "conditions": condition("owner", "ann")["conditions"] + condition("year", "2026")["conditions"],
    }
    with pytest.raises(ValueError, match="filters=True"):
        provider(service, owner_filters=lambda context: {})
    with pytest.raises(KnowledgeNotFound):
        await provider(service, lambda context: "").retrieve(request_for(), context_for())


@pytest.mark.parametrize("error_code", [*ERROR_CODES, 9999])
@pytest.mark.parametrize("status", [200, 403])
async def test_an_error_code_is_typed_whatever_status_it_comes_with(
    error_code: int, status: int, service: Loopback
) -> None:
    """Services send Dify's codes with HTTP 200 too, and quote the key."""
    service.replies({"error_code": error_code, "error_msg": "Authorization failed: s3cret"}, status)
    dify = provider(service)
    with pytest.raises(RetrievalError) as caught:
        await dify.retrieve(request_for(), context_for())
    ours = ERROR_CODES.get(error_code)
    expected = "knowledge_forbidden" if status == 403 else ours("dify").code if ours else "knowledge_bad_response"
    assert caught.value.code == expected
    assert "s3cret" not in everything_about(caught.value)


def test_a_config_takes_its_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the file is refused by name; the variable's is used."""
    config = {"key": "dify", "label": "Dify", "url": "http://x.example/retrieval", "knowledge_id": "kb"}
    with pytest.raises(ProviderContractError, match="'api_key_env' is missing"):
        from_config(config)
    monkeypatch.setenv("DIFY_KEY", "s3cret")
    assert from_config({**config, "api_key_env": "DIFY_KEY"}).describe().label == "Dify"
