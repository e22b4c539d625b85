"""Writes rows in groups, each under the header of its sheet or file."""

import itertools
from collections.abc import Iterable, Iterator

from ..records import SegmentKind
from .segments import SegmentWriter
from .tables import joined_header, row_line

_GROUP_ROWS = 25
_MOST_COLUMNS = 1_000


def write_rows(rows: Iterable[list[str]], writer: SegmentWriter, sheet: str, *, header_rows: int = 1) -> None:
    """Write rows with the header line in every group; the place is the sheet with its rows, or the line in a file."""
    numbered = ((number, row) for number, row in enumerate(rows, start=1) if any(cell.strip() for cell in row))
    filled = ((number, _bounded(row, writer)) for number, row in numbered)
    top = list(itertools.islice(filled, 1 if header_rows <= 1 else header_rows))
    while len(top) > 1 and len(set(filter(None, top[0][1]))) == 1:  # a title across all columns is no header
        number, title = top.pop(0)
        writer.add(SegmentKind.PARAGRAPH, next(filter(None, title)), place=_place(sheet, number, number))
    if not top:
        return
    header = row_line(joined_header([row for _, row in top]) if len(top) > 1 else top[0][1])
    groups = _groups(filled)
    first = next(groups, None)
    if first is None:
        writer.add(SegmentKind.TABLE, header, place=_place(sheet, top[0][0], top[-1][0]))
        return
    for group in itertools.chain((first,), groups):
        lines = [header, *(row_line(row) for _, row in group)]
        writer.add(SegmentKind.TABLE, "\n".join(lines), place=_place(sheet, group[0][0], group[-1][0]))


def _bounded(row: list[str], writer: SegmentWriter) -> list[str]:
    if len(row) > _MOST_COLUMNS and any(row[_MOST_COLUMNS:]):
        writer.warn(f"Columns after the first {_MOST_COLUMNS:,} were left out.")
    return row[:_MOST_COLUMNS]


def _groups(rows: Iterator[tuple[int, list[str]]]) -> Iterator[list[tuple[int, list[str]]]]:
    while group := list(itertools.islice(rows, _GROUP_ROWS)):
        yield group


def _place(sheet: str, first: int, last: int) -> str:
    return f"{sheet}&rows={first}-{last}" if sheet else f"L{first}"


__all__ = ["write_rows"]
