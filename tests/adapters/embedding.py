"""A ranking without any model: texts with common words are near."""

import hashlib


def embedded(text: str) -> list[float]:
    """Hash words into 64 places."""
    places = [0.001] * 64
    for word in text.lower().split():
        places[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
    return places
