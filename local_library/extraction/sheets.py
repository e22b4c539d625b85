"""Spreadsheets and CSV: rows under their sheet's name, the header row kept with every group of rows."""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time

import python_calamine

from ..records import SegmentKind
from .archive import checked_zip
from .decoding import decoded
from .outcome import Unreadable
from .segments import SegmentWriter

EXTRACTOR_ID = "sheets-1"
CSV_EXTRACTOR_ID = "csv-1"
_GROUP_ROWS = 25
_MOST_COLUMNS = 200
_LONGEST_CELL = 2_000


def extract_sheets(content: bytes, writer: SegmentWriter) -> None:
    """Write the sheets of an .xlsx, .ods or .xls file."""
    if content[:2] == b"PK":
        checked_zip(content)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    except python_calamine.PasswordError as error:
        raise Unreadable("encrypted", "is protected by a password", "Save it without a password") from error
    except python_calamine.CalamineError as error:
        raise Unreadable("damaged", "is damaged or cut off", "Save it again from its program") from error
    writer.pages = len(book.sheet_names)
    for name in book.sheet_names:
        try:
            sheet = book.get_sheet_by_name(name)
        except python_calamine.CalamineError:
            writer.warn(f"The sheet {name!r} could not be read.")
            continue
        writer.heading(name, 1, place=f"sheet={name}")
        _write_rows((list(map(_shown, row)) for row in sheet.iter_rows()), writer, f"sheet={name}")


def extract_csv(content: bytes, writer: SegmentWriter) -> None:
    """Write the rows of a CSV or TSV file in any encoding, with any usual separator."""
    text, _ = decoded(content)
    csv.field_size_limit(1_000_000)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:8_192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        _write_rows(csv.reader(io.StringIO(text), dialect), writer, "")
    except csv.Error as error:
        raise Unreadable("damaged", "is no readable table", "Save it again as CSV") from error


def _write_rows(rows: Iterable[list[str]], writer: SegmentWriter, sheet: str) -> None:
    filled = ((number, _line(row)) for number, row in enumerate(rows, start=1) if any(cell.strip() for cell in row))
    header = next(filled, None)
    if header is None:
        return
    groups = list(_groups(filled))
    if not groups:
        writer.add(SegmentKind.TABLE, header[1], place=_place(sheet, header[0], header[0]))
    for group in groups:
        lines = [header[1], *(line for _, line in group)]
        writer.add(SegmentKind.TABLE, "\n".join(lines), place=_place(sheet, group[0][0], group[-1][0]))


def _groups(rows: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    while group := list(itertools.islice(rows, _GROUP_ROWS)):
        yield group


def _place(sheet: str, first: int, last: int) -> str:
    return f"{sheet}&rows={first}-{last}" if sheet else f"L{first}"


def _line(row: list[str]) -> str:
    return " | ".join(" ".join(cell.split())[:_LONGEST_CELL] for cell in row[:_MOST_COLUMNS]).rstrip(" |")


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat().removesuffix("T00:00:00")
    return str(value)


__all__ = ["CSV_EXTRACTOR_ID", "EXTRACTOR_ID", "extract_csv", "extract_sheets"]
