"""CSV and its kin: values with any usual separator, in any encoding."""

import csv
import io
from collections import Counter
from collections.abc import Iterator

from .decoding import decoded
from .outcome import Unreadable
from .rows import write_rows
from .segments import SegmentWriter

EXTRACTOR_ID = "csv-2"
_SEPARATORS = ",;\t|"
_LONGEST_FIELD = 1_000_000
_SAMPLE_ROWS = 20
_SAMPLE_CHARACTERS = 65_536


def extract_values(content: bytes, writer: SegmentWriter) -> None:
    """Write the rows of a file of values; its first row is taken for the header."""
    text, encoding = decoded(content)
    if "\ufffd" in text:
        writer.warn(f"Some characters could not be read as {encoding}.")
    csv.field_size_limit(_LONGEST_FIELD)
    rows = _rows(text, _separator(text[:_SAMPLE_CHARACTERS]))
    try:
        write_rows(rows, writer, "")
    except csv.Error as error:
        raise Unreadable("damaged", "is no readable table", "Save it again as CSV") from error


def _separator(sample: str) -> str:
    """The separator that splits the first rows into the most even number of fields."""
    declared = sample[:5].lower()
    if declared.startswith("sep=") and declared[4:] in _SEPARATORS:
        return sample[4]
    return max(_SEPARATORS, key=lambda separator: _evenness(sample, separator))


def _evenness(sample: str, separator: str) -> tuple[int, int]:
    """How many of the first rows have the usual number of fields, and that number; nothing for a single field."""
    try:
        widths = [len(row) for row, _ in zip(_rows(sample, separator), range(_SAMPLE_ROWS), strict=False) if row]
    except csv.Error:
        return 0, 0
    usual, rows = Counter(widths).most_common(1)[0] if widths else (1, 0)
    return (rows, usual) if usual > 1 else (0, 0)


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    first = text.partition("\n")[0].lower()
    skipped = len(first) + 1 if first.strip() in {f"sep={one}" for one in _SEPARATORS} | {"sep="} else 0
    return csv.reader(io.StringIO(text[skipped:]), delimiter=separator)


__all__ = ["EXTRACTOR_ID", "extract_values"]
