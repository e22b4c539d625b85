"""A card with a rate of its own neither changes the pitch nor loses the end."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.sound.resampling import Resampling


def tone(rate: int, seconds: float) -> bytes:
    times = numpy.arange(int(rate * seconds)) / rate
    return (numpy.sin(2 * numpy.pi * 1000 * times) * 12_000).astype("<i2").tobytes()


def pitch(pcm: bytes, rate: int) -> float:
    samples = numpy.frombuffer(pcm, dtype="<i2").astype(float)
    spectrum = numpy.abs(numpy.fft.rfft(samples * numpy.hanning(len(samples))))
    return float(spectrum.argmax() * rate / len(samples))


@pytest.mark.parametrize(("source", "target"), [(24_000, 44_100), (48_000, 24_000), (16_000, 24_000)])
def test_a_tone_keeps_its_pitch_and_its_length(source: int, target: int) -> None:
    """In pieces of 40 ms, as they come from a card; its end is not swallowed by the filter."""
    sound, size = tone(source, 1.0), 2 * source // 25
    resampling = Resampling(source, target)
    parts = [resampling.feed(sound[start : start + size]) for start in range(0, len(sound), size)]
    result = b"".join([*parts, resampling.end()])
    assert abs(len(result) // 2 - target) <= 2
    assert abs(pitch(result, target) - 1000) < 5
    assert len(resampling.feed(sound[:size])) > 0, "another stream begins after the end"


@given(st.lists(st.binary(max_size=20).filter(lambda pcm: len(pcm) % 2 == 0), max_size=5))
def test_equal_rates_change_nothing(pieces: list[bytes]) -> None:
    """Bit for bit, and nothing is kept back."""
    resampling = Resampling(24_000, 24_000)
    assert [resampling.feed(piece) for piece in pieces] == pieces
    assert resampling.end() == b""
