"""Who asks the model to write the user's speech down."""

from knowledge_provider import KnowledgeRetrievalProvider
from tests.gateway.realtime.played import Event, PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import staged

MINE = {"audio": {"input": {"transcription": {"model": "mine"}}}}


async def opened_with(model: PlayedModel, provider: KnowledgeRetrievalProvider, scribe: str = "") -> Event:
    async with staged(model, provider, transcription_model=scribe) as stage:
        assert stage.opening is not None
        session: Event = stage.opening["session"]
        return session


async def test_the_gateway_asks_for_a_transcript_where_it_is_told_to(
    model: PlayedModel, provider: WatchedProvider
) -> None:
    """With EARPIECE_TRANSCRIPTION_MODEL every client sees what was asked, without having to know the model."""
    session = await opened_with(model, provider, "a-scribe")
    assert session["audio"]["input"]["transcription"] == {"model": "a-scribe"}


async def test_nothing_is_transcribed_unasked(model: PlayedModel, provider: WatchedProvider) -> None:
    """A transcript costs money, and a server of one's own may not know the setting."""
    assert "audio" not in await opened_with(model, provider)


async def test_what_the_client_asks_for_wins_and_outlasts_a_lost_connection(
    model: PlayedModel, provider: WatchedProvider
) -> None:
    """The gateway's choice is only where the client has made none."""
    async with staged(model, provider, transcription_model="a-scribe") as stage:
        await stage.client.send("session.update", session={"type": "realtime", **MINE})
        assert (await stage.model.until("session.update"))["session"]["audio"] == MINE["audio"]
        await stage.model.socket.close(code=1011)
        fresh = await model.connection()
        assert (await fresh.until("session.update"))["session"]["audio"] == MINE["audio"]
