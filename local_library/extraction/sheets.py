"""Spreadsheets: rows under their sheet's name, the header kept with every group of rows, merged cells in each place."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

import python_calamine

from .archive import checked_zip
from .outcome import Unreadable
from .rows import write_rows
from .segments import SegmentWriter

EXTRACTOR_ID = "sheets-2"
_MOST_MERGED_CELLS = 200_000
_MOST_HEADER_ROWS = 3
_FILE_PASSWORD = 0x2F
_BOOK_STARTS = (b"\x09\x08\x10\x00\x00\x06", b"\x09\x08\x08\x00\x00\x05")
_WITHOUT_RESULT = re.compile(rb"(?:</f>|<f[^<>]*/>)\s*(?:<v>\s*</v>|<v\s*/>)?\s*</c>")

Merged = Mapping[int, list[tuple[int, int, int]]]  # row: first row, first and last column of what covers it


def extract_sheets(content: bytes, writer: SegmentWriter) -> None:
    """Write the sheets of an .xlsx, .ods or .xls file. Formulas give the result that the file keeps for them."""
    archive = checked_zip(content) if content[:2] == b"PK" else None
    if archive is None and _is_encrypted(content):
        raise Unreadable("encrypted", "is protected by a password", "Save it without a password")
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
        merged, top = _merged(sheet), (sheet.start or (0, 0))[0]
        write_rows(_rows(sheet, merged, top), writer, f"sheet={name}", header_rows=_header_rows(merged, top))
    if archive is not None and _lacks_results(archive):
        writer.warn("Formulas without a stored result were left out.")


def _rows(sheet: Any, merged: Merged, top: int) -> Iterator[list[str]]:
    """The rows from the first of the sheet on, with what a merged cell says in each of its rows.

    In the header, from row ``top`` on, it is said in each of its columns, too.
    """
    says: dict[tuple[int, int], str] = {}
    for number, values in enumerate(sheet.iter_rows()):
        row = list(map(_shown, values))
        for first_row, first, last in merged.get(number, ()):
            if first_row == number and first < len(row):
                says[first_row, first] = row[first]
            is_header = number < top + _MOST_HEADER_ROWS
            for column in range(first, min(last + 1, len(row)) if is_header else min(first + 1, len(row))):
                row[column] = says.get((first_row, first), row[column])
        yield row


def _merged(sheet: Any) -> Merged:
    covering: dict[int, list[tuple[int, int, int]]] = {}
    cells = 0
    left = (sheet.start or (0, 0))[1]  # rows come from the first of the sheet on, columns from the first with a value
    for (first_row, first), (last_row, last) in sheet.merged_cell_ranges or ():
        cells += last_row - first_row + 1
        if cells > _MOST_MERGED_CELLS:
            break
        for row in range(first_row, last_row + 1):
            covering.setdefault(row, []).append((first_row, max(0, first - left), last - left))
    return covering


def _header_rows(merged: Merged, top: int) -> int:
    """One, and one more for each row from ``top`` on that has a cell across columns."""
    across = 0
    while across < _MOST_HEADER_ROWS and any(last > first for _, first, last in merged.get(top + across, ())):
        across += 1
    return 1 + across


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}" if abs(value) < 1e15 else str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ").removesuffix(" 00:00:00") if isinstance(value, datetime) else value.isoformat()
    return str(value)


def _lacks_results(archive: zipfile.ZipFile) -> bool:
    sheets = (name for name in archive.namelist() if "worksheets/" in name.replace("\\", "/"))
    return any(_WITHOUT_RESULT.search(archive.read(name)) for name in sheets)


def _is_encrypted(content: bytes) -> bool:
    """Whether the records at the start of an .xls workbook ask for a password."""
    start = next((at for mark in _BOOK_STARTS if (at := content.find(mark)) >= 0), -1)
    for _ in range(8):
        head = content[start : start + 4]
        if start < 0 or len(head) < 4:
            return False
        if int.from_bytes(head[:2], "little") == _FILE_PASSWORD:
            return True
        start += 4 + int.from_bytes(head[2:], "little")
    return False


__all__ = ["EXTRACTOR_ID", "extract_sheets"]
