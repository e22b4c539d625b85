"""What the lines of a PDF's pages are beside text: running heads, page numbers, headings that only their size shows."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_EDGE_LINES = 2
_LEAST_REPEATS = 3
_LEAST_SHARE = 0.25
_PAGE_NUMBER = "#"
_NUMBER_ALONE = re.compile(r"\W*(?:page |seite |p\. ?)?(?:\d+|[ivxlc]+)(?: ?(?:of|von|de|/) ?\d+)?\W*")
_NUMBER_AT_END = re.compile(r"^\d+\s+|\s+(?:(?:\d+ ?(?:/|of|von|de) ?)?\d+|[ivxlc]+)$")
_HEADING_RATIO = 1.15
_LONGEST_HEADING = 140
_MOST_LEVELS = 4
_MOST_HEADINGS_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page and the size of its letters in points; 0 where that is unknown."""

    text: str
    size: float = 0.0


def without_repeats(pages: Sequence[Sequence[Line]]) -> tuple[list[list[Line]], bool]:
    """The pages with each line that repeats at their edges kept once, page numbers left out, and whether any was.

    Two lines are the same that differ in the number at their start or end alone.
    """
    counts = Counter(key for page in pages for key in {_key(page[at]) for at in _edges(page)})
    least = max(_LEAST_REPEATS, _LEAST_SHARE * len(pages))
    repeated = {key for key, count in counts.items() if count >= least}
    seen: set[str] = set()
    kept = []
    for page in pages:
        edges = _edges(page)
        drop = {at for at in edges if (key := _key(page[at])) in seen or (key in repeated and key == _PAGE_NUMBER)}
        if all(at in drop or not line.text.strip() for at, line in enumerate(page)):
            drop = set()  # nothing else is on the page
        seen |= repeated & {_key(page[at]) for at in edges}
        kept.append([line for at, line in enumerate(page) if at not in drop])
    return kept, bool(repeated)


def _edges(page: Sequence[Line]) -> set[int]:
    filled = [at for at, line in enumerate(page) if line.text.strip()]
    return {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}


def _key(line: Line) -> str:
    text = " ".join(line.text.split()).casefold()
    return _PAGE_NUMBER if _NUMBER_ALONE.fullmatch(text) else _NUMBER_AT_END.sub("", text)


def heading_sizes(pages: Sequence[Sequence[Line]]) -> dict[float, int]:
    """Sizes of letters that mark headings, each with its level; none where size does not tell headings from text."""
    weights: Counter[float] = Counter()
    for line in (line for page in pages for line in page):
        weights[line.size] += len(line.text.strip())
    body = max(weights, key=lambda size: weights[size], default=0.0)
    if not body:
        return {}
    marked: Counter[float] = Counter()
    for line in (line for page in pages for line in page if is_heading_like(line, body)):
        marked[line.size] += len(line.text.strip())
    if marked.total() > _MOST_HEADINGS_SHARE * weights.total():
        return {}
    return {size: min(level, _MOST_LEVELS) for level, size in enumerate(sorted(marked, reverse=True), start=1)}


def is_heading_like(line: Line, body: float) -> bool:
    """Whether a line is larger than the body's text, and words rather than a drawing's label or a sentence."""
    text = line.text.strip()
    letters = sum(map(str.isalpha, text))
    return (
        line.size >= body * _HEADING_RATIO
        and 3 <= len(text) <= _LONGEST_HEADING
        and letters >= max(2, len(text) // 2)
        and not text.endswith((",", ";"))
    )


__all__ = ["Line", "heading_sizes", "is_heading_like", "without_repeats"]
