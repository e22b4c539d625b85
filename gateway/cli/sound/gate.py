"""Pure: what the model hears while it speaks itself.

A terminal has no echo cancellation of its own. With loudspeakers the model would hear its own voice, take it for the
person's, and interrupt itself. So the microphone is replaced by silence while the speaker sounds. Silence, not nothing:
the model's voice detection counts the time in samples.
"""


def is_muted(*, sounding: bool, headphones: bool) -> bool:
    """Say whether the microphone is held back. Who wears headphones may speak over the answer."""
    return sounding and not headphones


def let_through(piece: bytes, *, muted: bool) -> bytes:
    """Return the piece, or as much silence."""
    return bytes(len(piece)) if muted else piece


__all__ = ["is_muted", "let_through"]
