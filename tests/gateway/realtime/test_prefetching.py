"""What is looked up while the user still speaks, with a model that the test plays."""

import pytest

from tests.gateway.realtime.played import PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.speech import QUESTION, speaks
from tests.gateway.realtime.stage import staged


@pytest.mark.parametrize("pieces", [True, False], ids=["in pieces", "final only"])
async def test_the_call_adopts_what_was_looked_up_while_the_user_spoke(
    model: PlayedModel, provider: WatchedProvider, pieces: bool
) -> None:
    """One retrieval, begun before the model called; the client hears of it and of what it saved."""
    async with staged(model, provider, events=True) as stage:
        await speaks(stage.model, pieces=pieces)
        ahead = await stage.client.until("knowledge.prefetch")
        assert ahead["query"] == QUESTION
        await stage.calls(query="number of reviewers every release needs")
        completed = await stage.client.until("knowledge.completed")
        assert completed["status"] == "ok"
        counts = completed["prefetch"]
        assert (counts["started"], counts["adopted"], counts["wasted"]) == (1, 1, 0)
        assert counts["hidden_ms"] >= 0
        assert ahead["turn_id"] == completed["turn_id"]
    assert [request.query for request, _ in provider.requests] == [QUESTION]


async def test_another_question_is_looked_up_itself(model: PlayedModel, provider: WatchedProvider) -> None:
    """What the model asks is what it is answered."""
    async with staged(model, provider, events=True) as stage:
        await speaks(stage.model)
        await stage.client.until("knowledge.prefetch")
        await stage.calls(query="warranty of the sensor")
        completed = await stage.client.until("knowledge.completed")
        assert completed["prefetch"]["adopted"] == 0
    assert provider.requests[-1][0].query == "warranty of the sensor"


async def test_it_can_be_switched_off(model: PlayedModel, provider: WatchedProvider) -> None:
    """With EARPIECE_PREFETCH=off only the model's calls reach the provider."""
    async with staged(model, provider, events=True, prefetch=False) as stage:
        await speaks(stage.model)
        await stage.calls(query="reviewers")
        await stage.client.until("knowledge.completed")
    assert [request.query for request, _ in provider.requests] == ["reviewers"]
