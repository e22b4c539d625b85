"""What a new connection is told of the one before."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.memory import ITEM_PREFIX, MAX_CHARACTERS, MAX_ITEMS, SessionMemory


def test_settings_are_kept_as_the_client_set_them() -> None:
    """What a later update leaves out stays as it was, at every depth."""
    memory = SessionMemory()
    memory.updated({"instructions": "Be kind.", "audio": {"input": {"rate": 1}, "output": {"voice": "a"}}})
    memory.updated({"audio": {"output": {"voice": "b"}}})
    assert memory.settings == {"instructions": "Be kind.", "audio": {"input": {"rate": 1}, "output": {"voice": "b"}}}


def test_both_sides_are_told_again_in_order() -> None:
    """The user's words, written or understood, and what the model said of it."""
    memory = SessionMemory()
    memory.said("u1", "user", "How many reviewers?")
    memory.model_event({"type": "response.output_audio_transcript.done", "item_id": "a1", "transcript": "Two."})
    kind = "conversation.item.input_audio_transcription.completed"
    memory.model_event({"type": kind, "item_id": "u2", "transcript": "And tags?"})
    items = [event["item"] for event in memory.replay()]
    assert [(item["role"], item["content"][0]["text"]) for item in items] == [
        ("user", "How many reviewers?"),
        ("assistant", "Two."),
        ("user", "And tags?"),
    ]
    assert all(item["id"].startswith(ITEM_PREFIX) for item in items)
    assert items[1]["content"][0]["type"] == "output_text"


def test_what_the_client_deleted_is_not_told_again() -> None:
    """A deletion holds for the next connection too."""
    memory = SessionMemory()
    memory.said("u1", "user", "secret")
    memory.client_event({"type": "conversation.item.delete", "item_id": "u1"})
    assert memory.replay() == []


@given(st.lists(st.tuples(st.integers(0, 60), st.text(max_size=3000)), max_size=60))
def test_the_memory_is_bounded_and_keeps_the_latest(said: list[tuple[int, str]]) -> None:
    """However long a session is, what is told again stays small."""
    memory = SessionMemory()
    for number, text in said:
        memory.said(f"item_{number}", "user", text)
    texts = [event["item"]["content"][0]["text"] for event in memory.replay()]
    assert len(texts) <= MAX_ITEMS
    assert sum(map(len, texts)) <= MAX_CHARACTERS
    if said and said[-1][1].strip():
        assert texts[-1] == said[-1][1]
