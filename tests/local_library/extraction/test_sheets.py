"""Workbooks beyond the plain ones: merged cells, header rows, dates, formulas, passwords; and files of values."""

import re
from collections.abc import Callable

import pytest

from local_library import DocumentRejected
from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"

Workbook = Callable[..., bytes]


@pytest.fixture
def workbook(zipped: Callable[[dict[str, str | bytes]], bytes]) -> Workbook:
    """Makes an .xlsx of one sheet: cells by their name, as text or as XML; merged ranges; a claimed dimension."""

    def make(cells: dict[str, str], merged: tuple[str, ...] = (), dimension: str = "", separator: str = "/") -> bytes:
        rows: dict[int, str] = {}
        for name, value in cells.items():
            number = int(re.sub(r"\D", "", name))
            text = value if value.startswith("<") else f"<c r='{name}' t='inlineStr'><is><t>{value}</t></is></c>"
            rows[number] = rows.get(number, "") + text
        data = "".join(f"<row r='{number}'>{text}</row>" for number, text in sorted(rows.items()))
        ranges = "".join(f"<mergeCell ref='{one}'/>" for one in merged)
        sheet = f"<dimension ref='{dimension}'/>" if dimension else ""
        sheet += f"<sheetData>{data}</sheetData>" + (f"<mergeCells>{ranges}</mergeCells>" if ranges else "")
        relation = f"<Relationships xmlns='{PACKAGE}/relationships'><Relationship Id='r1' Type='{RELATIONS}/"
        styles = "<cellXfs><xf numFmtId='0'/><xf numFmtId='14'/><xf numFmtId='22'/></cellXfs>"
        parts: dict[str, str | bytes] = {
            "[Content_Types].xml": f"<Types xmlns='{PACKAGE}/content-types'/>",
            "_rels/.rels": f"{relation}officeDocument' Target='xl/workbook.xml'/></Relationships>",
            "xl/workbook.xml": f"<workbook xmlns='{MAIN}' xmlns:r='{RELATIONS}'><sheets>"
            "<sheet name='Prices' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"{relation}worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
            "xl/styles.xml": f"<styleSheet xmlns='{MAIN}'>{styles}</styleSheet>",
            "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{MAIN}'>{sheet}</worksheet>",
        }
        return zipped({name.replace("/", separator): text for name, text in parts.items()})

    return make


def read(extractor: LimitedExtractor, content: bytes, name: str = "a.xlsx") -> ExtractedText:
    return extractor.extract(name, content, "hash")[0]


def tables(extracted: ExtractedText) -> list[tuple[str, str]]:
    return [(one.place, one.text) for one in extracted.segments if one.kind is SegmentKind.TABLE]


def test_header_rows_with_merged_cells_become_one(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """Each column is named by all header cells above it, and a merged body cell is said in each of its rows."""
    cells = {"B2": "Part", "C2": "2023", "E2": "2024", "C3": "Q1", "D3": "Q2", "E3": "Q1", "F3": "Q2"}
    cells |= {"B4": "bolt", "C4": "1", "D4": "2", "E4": "3", "F4": "4", "C5": "5", "D5": "6", "E5": "7", "F5": "8"}
    found = read(extractor, workbook(cells, ("B2:B3", "C2:D2", "E2:F2", "B4:B5")))
    assert tables(found) == [
        (
            "sheet=Prices&rows=4-5",
            "Part | 2023 Q1 | 2023 Q2 | 2024 Q1 | 2024 Q2\nbolt | 1 | 2 | 3 | 4\nbolt | 5 | 6 | 7 | 8",
        )
    ]


def test_a_title_across_the_sheet_is_no_header(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """It is text above the table, whose header is the row below it."""
    cells = {"A1": "Prices of May", "A2": "Part", "B2": "Price", "A3": "bolt", "B3": "3"}
    found = read(extractor, workbook(cells, ("A1:B1",)))
    assert [one.text for one in found.segments] == ["Prices", "Prices of May", "Part | Price\nbolt | 3"]


def test_values_read_as_people_see_them(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """Dates, times, whole and rounded numbers, truth values, and the stored result of a formula."""
    cells = {"A1": "When", "B1": "What"}
    cells |= {"A2": "<c r='A2' s='1'><v>45352</v></c>", "B2": "<c r='B2' s='2'><v>45352.5</v></c>"}
    cells |= {"A3": "<c r='A3'><v>3</v></c>", "B3": "<c r='B3'><f>0.1+0.2</f><v>0.30000000000000004</v></c>"}
    cells |= {"A4": "<c r='A4' t='b'><v>1</v></c>", "B4": "<c r='B4' t='str'><f>A1</f><v>When</v></c>"}
    found = read(extractor, workbook(cells))
    assert tables(found)[0][1].split("\n")[1:] == ["2024-03-01 | 2024-03-01 12:00:00", "3 | 0.3", "TRUE | When"]
    assert found.warnings == ()


def test_a_formula_without_a_result_is_reported(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """A program that writes sheets without computing them leaves nothing to read, and that is said."""
    found = read(extractor, workbook({"A1": "Sum", "A2": "<c r='A2'><f>1+1</f></c>", "A3": "end"}))
    assert found.warnings == ("Formulas without a stored result were left out.",)


def test_a_claimed_dimension_costs_nothing(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """A sheet that says it has sixteen billion cells and holds two is read at once."""
    found = read(extractor, workbook({"A1": "City", "A2": "Oslo"}, dimension="A1:XFD1048576"))
    assert tables(found) == [("sheet=Prices&rows=2-2", "City\nOslo")]


def test_a_cell_in_the_farthest_corner_ends_the_reader_alone(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """Room for sixteen billion cells is not to be had, which is a typed outcome."""
    with pytest.raises(DocumentRejected) as caught:
        read(extractor, workbook({"A1": "City", "XFD1048576": "far"}))
    assert caught.value.reason_code in ("crashed", "too_much_memory", "damaged")


def test_columns_beyond_a_thousand_are_reported(extractor: LimitedExtractor) -> None:
    """Nothing is dropped in silence."""
    content = "\n".join(",".join(f"{row}{number}" for number in range(1_002)) for row in "ab").encode()
    assert read(extractor, content, "a.csv").warnings == ("Columns after the first 1,000 were left out.",)


def test_an_archive_written_with_backslashes_is_a_workbook(extractor: LimitedExtractor, workbook: Workbook) -> None:
    """Some programs for Windows name the parts so."""
    assert "Oslo" in tables(read(extractor, workbook({"A1": "City", "A2": "Oslo"}, separator="\\")))[0][1]


def test_an_old_workbook_with_a_password_says_so(extractor: LimitedExtractor) -> None:
    """An .xls names its encryption in a record after its start."""
    start = b"\x09\x08\x10\x00\x00\x06\x05\x00" + b"\x00" * 12
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504 + start + b"\x2f\x00\x06\x00" + b"\x01" * 6
    with pytest.raises(DocumentRejected) as caught:
        read(extractor, content + b"\x00" * 512, "a.xls")
    assert caught.value.reason_code == "encrypted"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_values_are_split_at_what_splits_them_evenly(extractor: LimitedExtractor, separator: str) -> None:
    """Quoted fields hold the separators of others, line breaks and quotation marks."""
    lines = [("City", "Note"), ("Oslo", '"a, b; c | d\te"'), ("Rome", '"two\nlines ""quoted"""')]
    content = "\n".join(separator.join(line) for line in lines).encode()
    assert (
        tables(read(extractor, content, "a.csv"))[0][1]
        == 'City | Note\nOslo | a, b; c | d e\nRome | two lines "quoted"'
    )


def test_a_declared_separator_is_no_row(extractor: LimitedExtractor) -> None:
    """Excel's first line names the separator."""
    assert tables(read(extractor, b"sep=;\nCity;Limit\nOslo;1,5\n", "a.csv"))[0][1] == "City | Limit\nOslo | 1,5"


def test_one_endless_field_is_a_typed_outcome(extractor: LimitedExtractor) -> None:
    """A line of eight million characters is no table."""
    with pytest.raises(DocumentRejected) as caught:
        read(extractor, b"City,Limit\n" + b"x" * 8_000_000, "a.csv")
    assert (caught.value.reason_code, caught.value.reason) == ("damaged", "is no readable table")
