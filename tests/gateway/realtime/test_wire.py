"""What can be told from the beginning of an event's text, and what cannot."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.realtime.wire import encoded, parsed, quick_type


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


DEEP = [f'{{"type":"x","a":{"[" * depth}{"]" * depth}}}' for depth in (101, 900, 980, 100_000)]


@pytest.mark.parametrize("text", ["", "[]", "3", '{"type":3}', "{", '{"a":' * 100_000, *DEEP])
def test_what_is_no_event_is_none(text: str) -> None:
    """Broken or deeply nested text is no reason to fall over."""
    assert parsed(text) is None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_a_number_that_json_has_not_is_null(number: str) -> None:
    """The rest of the event counts: without its ``response.done`` a client would wait for ever."""
    assert parsed(f'{{"type":"x","n":[{number}, 0.5]}}') == {"type": "x", "n": [None, 0.5]}


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(ANY_VALUE)
def test_what_is_understood_can_be_said_again(value: object) -> None:
    """Whatever a side sends, in escapes or not, goes out as UTF-8 and as JSON that means the same."""
    event = parsed(json.dumps({"type": "x", "value": value}))
    assert event is not None
    assert json.loads(encoded(event).encode(), parse_constant=pytest.fail) == event


@given(ANY_TEXT, ANY_TEXT)
def test_every_text_that_the_gateway_makes_is_encodable(key: str, text: str) -> None:
    """Half a character cannot be sent, so it is replaced; what is whole stays."""
    said = json.loads(encoded({"type": "x", key: text}).encode())
    assert said[key.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")] is not None
    assert encoded({"type": "x", "text": "\ud83d\ude00 \ud83d"}) == '{"type":"x","text":"😀 \ufffd"}'
