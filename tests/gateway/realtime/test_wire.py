"""What can be told from the beginning of an event's text, and what cannot."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.wire import parsed, quick_type


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"input_audio_buffer.append","audio":"AAAA"}',
        ' { "type" : "input_audio_buffer.append" , "audio":"AAAA"}',
        '{"type":"input_audio_buffer.append"}',
    ],
)
def test_the_type_at_the_beginning_is_told_without_parsing(text: str) -> None:
    """The usual spelling of every SDK."""
    assert quick_type(text) == "input_audio_buffer.append"


@pytest.mark.parametrize(
    "text",
    [
        '{"audio":"AAAA","type":"input_audio_buffer.append"}',
        '{"type":"input_audio_buffer.append","type":"session.update"}',
        '{"type":"input_audio_buffer.append","\\u0074ype":"session.update"}',
        '{"type":"input_audio_buffer.append","a":{"type":"x"}}',
        '["type"]',
        "",
    ],
)
def test_what_might_mean_something_else_is_left_to_the_parser(text: str) -> None:
    """JSON lets a later key win; nothing slips past the gateway in the dress of audio."""
    assert quick_type(text) is None


@given(st.dictionaries(st.sampled_from(["type", "a", 'b"', "\\"]), st.text() | st.none(), max_size=4))
def test_the_quick_answer_is_never_another_than_the_slow_one(event: dict[str, str | None]) -> None:
    """Whatever the quick look says, parsing says the same."""
    text = json.dumps(event)
    assert quick_type(text) in (None, event.get("type"))


@pytest.mark.parametrize("text", ["", "[]", "3", '{"type":3}', "{", '{"a":' * 100_000])
def test_what_is_no_event_is_none(text: str) -> None:
    """Broken or deeply nested text is no reason to fall over."""
    assert parsed(text) is None
