"""A user who speaks, as the model hears it."""

from tests.gateway.realtime.played import Peer

TRANSCRIPT = "conversation.item.input_audio_transcription."
QUESTION = "how many reviewers does every release need"


async def speaks(model: Peer, *, pieces: bool = False) -> None:
    """The user asks `QUESTION`; its transcript comes in pieces while it is said, or as a whole afterwards."""
    await model.send("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    if pieces:
        for word in QUESTION.split():
            await model.send(f"{TRANSCRIPT}delta", item_id="item_1", delta=f"{word} ")
    await model.send("input_audio_buffer.speech_stopped", item_id="item_1", audio_end_ms=900)
    if not pieces:
        await model.send(f"{TRANSCRIPT}completed", item_id="item_1", transcript=QUESTION)
