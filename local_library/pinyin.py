"""How runs of Chinese characters sound, so that what a recognizer heard as other characters is found all the same."""

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_KANA = re.compile(r"[\u3040-\u30ff]")


def han_sounds(run: str) -> list[str]:
    """The sounds of each two neighbouring characters of ``run``, in reading order; none for Japanese.

    A single character sounds like dozens of others; two in a row are rarely like another two.
    """
    if _KANA.search(run):
        return []
    codes = [_sounds().get(mark, "") for mark in run]
    return [f"{left}-{right}" for left, right in pairwise(codes) if left and right]


@lru_cache(maxsize=1)
def _sounds() -> dict[str, str]:
    lines = (Path(__file__).parent / "pinyin.txt").read_text(encoding="utf-8").splitlines()
    entries = (line.split(" ") for line in lines if not line.startswith("#"))
    return {mark: code for code, marks in entries for mark in marks}


__all__ = ["han_sounds"]
