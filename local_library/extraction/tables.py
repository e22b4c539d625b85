"""Rows of cells as lines of text, the header in the first of them."""

from collections.abc import Sequence

LONGEST_CELL = 1_000  # a cell beyond it holds running text
_MOST_HEADER_ROWS = 4


def row_line(cells: Sequence[str]) -> str:
    """One row as one line; empty cells keep their place, those at the end are cut."""
    return " | ".join(" ".join(cell.split()) for cell in cells).rstrip(" |")


def table_text(rows: Sequence[Sequence[str]], header_rows: int = 1) -> str:
    """A table's text; several header rows become one line, column by column."""
    header = joined_header(rows[:header_rows]) if header_rows > 1 else ()
    body = rows[header_rows:] if header else rows
    return "\n".join(line for row in ((header,) if header else ()) + tuple(body) if (line := row_line(row)))


def joined_header(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Each column's words from the top down, once where the rows repeat them."""
    width = max(map(len, rows), default=0)
    columns = ([row[column] for row in rows[:_MOST_HEADER_ROWS] if column < len(row)] for column in range(width))
    return tuple(" ".join(dict.fromkeys(cell.strip() for cell in column if cell.strip())) for column in columns)


__all__ = ["LONGEST_CELL", "joined_header", "row_line", "table_text"]
