"""Passages to search and questions about them: made from a seed, or cut from real text on this machine.

Random syllables alone make text that no library holds: a few thousand different letter grams in hundreds of thousands
of words, so that each gram stands in far too many passages. The words made here are built of English onsets, vowels,
codas and endings, short where they are frequent; function words lead the Zipf order; a passage repeats some words.
Compared at 50,000 passages with Debian's documentation, a question of ten words asks for this many postings as a share
of all passages (median): words 0.77, documentation 1.01; 4-grams 2.9, documentation 2.0 (random syllables: 8.3); sounds
0.13, documentation 0.19.
"""

import gzip
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy

WORDS_OF_A_PASSAGE = 60
_DRAWN, _REPEATED = 48, 12
_SEED = 7
_BATCH = 10_000
_FUNCTION_WORDS = """the of and to in a is for that with on as by this be are it from or an at not which if you can
    will has have when may was all one but your more other used use no these any its also file then"""
_PARTS = (
    """b c d f g h j k l m n p r s t v w b c d f g h l m n p r s t st tr pr br cr gr fl pl cl sp ch sh th dr str qu bl
    sl sc wh sw gl sn kn""",
    "a e i o u a e i o u e a i o ea ai oo ou ee ie oa y au",
    "n r s t l m d n r s t l ng nd st nt ck ll ss rd rt x p ct rm sh th mp lt b g",
)
_ONSETS, _VOWELS, _CODAS = (part.split() for part in _PARTS)
_ENDINGS = ["", "", "", "", "", "", "", "s", "ed", "ing", "er", "ion", "ly"]


def made(count: int) -> Iterator[str]:
    """``count`` passages of invented words, the same on every machine."""
    choose = random.Random(_SEED)
    invented = (_word(choose, rank) for rank in range(180_000))
    words = list(dict.fromkeys([*_FUNCTION_WORDS.split(), *invented]))
    reached = numpy.cumsum(1 / numpy.arange(3.7, len(words) + 3.7))
    draw = numpy.random.Generator(numpy.random.PCG64(_SEED))
    for start in range(0, count, _BATCH):
        rows = min(_BATCH, count - start)
        drawn = numpy.searchsorted(reached, draw.random((rows, _DRAWN)) * reached[-1])
        again = numpy.take_along_axis(drawn, draw.integers(0, _DRAWN, (rows, _REPEATED)), axis=1)
        mixed = draw.permuted(numpy.concatenate([drawn, again], axis=1), axis=1)
        yield from (" ".join(map(words.__getitem__, row)) for row in mixed.tolist())


def _word(choose: random.Random, rank: int) -> str:
    if rank < 600:
        syllables = 1
    elif rank < 20_000:
        syllables = choose.choices((1, 2, 3), (25, 60, 15))[0]
    else:
        syllables = choose.choices((1, 2, 3, 4), (5, 50, 38, 7))[0]
    parts = []
    for position in range(syllables):
        closed = choose.random() < (0.7 if position == syllables - 1 else 0.25)
        parts += [choose.choice(_ONSETS), choose.choice(_VOWELS), choose.choice(_CODAS) if closed else ""]
    return "".join(parts) + choose.choice(_ENDINGS)


def cut(folders: Sequence[Path], count: int) -> Iterator[str]:
    """``count`` passages of the text files below ``folders``; where they hold fewer, halves of two are joined anew."""
    found = list(dict.fromkeys(passage for folder in folders for passage in _passages_below(folder)))
    if not found:
        raise SystemExit(f"There is no text below {', '.join(map(str, folders))}.")
    choose = random.Random(_SEED)
    choose.shuffle(found)
    yield from found[:count]
    half = WORDS_OF_A_PASSAGE // 2
    for _ in range(count - len(found)):
        left, right = choose.choice(found).split(), choose.choice(found).split()
        yield " ".join((*left[:half], *right[half:]))


def _passages_below(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            words = _text_of(Path(place, name)).split()
            for start in range(0, len(words) - WORDS_OF_A_PASSAGE // 3, WORDS_OF_A_PASSAGE):
                yield " ".join(words[start : start + WORDS_OF_A_PASSAGE])


def _text_of(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    try:
        return (gzip.open(path) if path.suffix == ".gz" else path.open("rb")).read(3_000_000).decode()
    except (OSError, EOFError, UnicodeDecodeError):
        return ""


def questions(passages: Sequence[str], count: int) -> list[str]:
    """Questions of ten words: eight in a row out of one passage, so that each has an answer, and two of another."""
    choose = random.Random(_SEED)
    asked = []
    for _ in range(count):
        own, other = choose.choice(passages).split(), choose.choice(passages).split()
        start = choose.randrange(max(1, len(own) - 8))
        asked.append(" ".join(own[start : start + 8] + choose.sample(other, min(2, len(other)))))
    return asked


__all__ = ["WORDS_OF_A_PASSAGE", "cut", "made", "questions"]
