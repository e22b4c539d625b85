"""The one error of microphone and speaker: a sentence for a person."""

RATE = 24_000
"""Samples a second of the realtime protocol: 16-bit, mono, little-endian."""


class SoundProblem(Exception):
    """Raised when the sound cannot be used; the message says what to do, and typing always goes on."""


__all__ = ["RATE", "SoundProblem"]
