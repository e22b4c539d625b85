"""RTF: paragraphs, headings by style or outline level, list items, tables and footnotes, in any code page."""

import codecs
import re
from dataclasses import dataclass, field, replace

from ..records import SegmentKind
from .plain import heading_level
from .rich_text_words import CHARACTERS, CHARSETS, ENCODINGS, LEFT_OUT, READ_THOUGH_STARRED
from .segments import SegmentWriter
from .tables import table_text

EXTRACTOR_ID = "rtf-2"
_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,40})(?P<number>-?\d{1,9})?[ ]?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z])"
    r"|(?P<brace>[{}])|[\r\n\x00]+|(?P<text>[^\\{}\r\n\x00]+)",
    re.DOTALL,
)
_HEADING_NAME = re.compile(r"^heading (\d)$", re.IGNORECASE)
_DEEPEST = 5_000


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds until the group ends: where its text goes, in which font, and whether people see it."""

    goes_to: str = "body"
    font: int = -1
    unseen: bool = False
    skipped_after_unicode: int = 1


@dataclass(slots=True)
class _Paragraph:
    style: int = -1
    outline: int = -1
    listed: bool = False
    in_table: bool = False


@dataclass(slots=True)
class _Block:
    kind: SegmentKind
    text: str
    level: int = 0


@dataclass(slots=True)
class _Reading:
    """Follows the control words; finished paragraphs and tables gather in ``blocks``."""

    writer: SegmentWriter
    group: _Group = field(default_factory=_Group)
    enclosing: list[_Group] = field(default_factory=list)
    paragraph: _Paragraph = field(default_factory=_Paragraph)
    blocks: list[_Block] = field(default_factory=list)
    buffers: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    encoding: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    entry: dict[str, int] = field(default_factory=dict)
    pending: bytearray = field(default_factory=bytearray)
    to_skip: int = 0
    starred: bool = False

    def run(self, markup: str) -> None:
        position = 0
        while match := _TOKEN.match(markup, position):
            position = match.end()
            if match["word"] == "bin":
                position += max(0, int(match["number"] or 0))
            self._token(match)
        self._end_paragraph()
        self._end_table()
        if self.enclosing:
            self.writer.warn("Its end is missing; it was read as far as it goes.")

    def _token(self, match: re.Match[str]) -> None:
        if match["brace"]:
            self._flush()
            self._open() if match["brace"] == "{" else self._close()
        elif match["byte"]:
            self._bytes(bytes([int(match["byte"], 16)]))
        elif match["text"]:
            self._bytes(match["text"].encode("latin-1"))
        elif match["sign"] == "*":
            self.starred = True
        elif match["sign"]:
            self._text(CHARACTERS.get(match["sign"].replace("\r", "\n"), ""))
        elif match["word"]:
            starred, self.starred = self.starred, False
            self._word(match["word"], int(match["number"]) if match["number"] else None, starred=starred)

    def _open(self) -> None:
        if len(self.enclosing) >= _DEEPEST:
            self.writer.warn("Parts nested too deeply were left out.")
            self.group = replace(self.group, goes_to="")
        self.enclosing.append(self.group)
        self.starred = False

    def _close(self) -> None:
        if self.group.goes_to == "stylesheet":
            self._end_style()
        ended, self.group = self.group, self.enclosing.pop() if self.enclosing else _Group()
        if ended.goes_to == "note" != self.group.goes_to:
            self.notes.append("".join(self.buffers.pop("note", [])))

    def _bytes(self, content: bytes) -> None:
        skipped = min(self.to_skip, len(content))
        self.to_skip -= skipped
        self.pending += content[skipped:]

    def _flush(self) -> None:
        if self.pending:
            encoding = self.fonts.get(self.group.font, self.encoding)
            text = self.pending.decode(encoding, errors="replace")
            self.pending.clear()
            self._text(text)

    def _text(self, text: str) -> None:
        if self.pending:
            self._flush()
        self.to_skip = 0
        if self.group.unseen and self.group.goes_to in ("body", "note"):
            self.writer.warn("Hidden text was left out.")
        elif self.group.goes_to:
            self.buffers.setdefault(self.group.goes_to, []).append(text)

    def _word(self, word: str, number: int | None, *, starred: bool) -> None:
        if word == "u" and number is not None:
            self._text(chr(number % 65_536))
            self.to_skip = self.group.skipped_after_unicode
            return
        self._flush()
        if word in LEFT_OUT or (starred and word not in READ_THOUGH_STARRED):
            if LEFT_OUT.get(word) and self.group.goes_to:
                self.writer.warn(LEFT_OUT[word])
            if word in ("listtext", "pntext"):
                self.paragraph.listed = True
            self.group = replace(self.group, goes_to="")
        elif word in CHARACTERS:
            self._text(CHARACTERS[word])
        elif word in ("fonttbl", "stylesheet", "title", "footnote", "info"):
            goes_to = {"footnote": "note", "info": ""}.get(word, word)
            self.group = replace(self.group, goes_to=goes_to if self.group.goes_to or word == "title" else "")
        elif self.group.goes_to in ("fonttbl", "stylesheet"):
            self._definition(word, number)
        else:
            self._format(word, number)

    def _definition(self, word: str, number: int | None) -> None:
        """A word within the tables of fonts and styles."""
        if word == "f" and number is not None:
            self.group = replace(self.group, font=number)
        elif word == "fcharset" and number is not None and number in CHARSETS:
            self.fonts[self.group.font] = CHARSETS[number]
        elif word == "cpg" and number is not None and _known(f"cp{number}"):
            self.fonts[self.group.font] = f"cp{number}"
        elif word in ("s", "outlinelevel", "sbasedon") and number is not None:
            self.entry[word] = number

    def _end_style(self) -> None:
        name = _HEADING_NAME.match("".join(self.buffers.pop("stylesheet", [])).strip(" ;\n"))
        outline = self.entry.get("outlinelevel", 9)
        level = int(name.group(1)) if name else outline + 1 if outline < 9 else 0
        level = level or self.levels.get(self.entry.get("sbasedon", -1), 0)
        if level and "s" in self.entry:
            self.levels[self.entry["s"]] = level
        self.entry = {}

    def _format(self, word: str, number: int | None) -> None:
        """A word that changes how the text after it is taken."""
        if word in ("par", "sect", "page", "column"):
            self._end_paragraph()
        elif word in ("cell", "nestcell"):
            self.row.append(self._taken())
        elif word in ("row", "nestrow"):
            self.rows.append(self.row)
            self.row = []
        elif word == "pard":
            self.paragraph = _Paragraph()
        elif word == "intbl":
            self.paragraph.in_table = True
        elif word == "s":
            self.paragraph.style = number or 0
        elif word == "outlinelevel":
            self.paragraph.outline = 9 if number is None else number
        elif word == "ls":
            self.paragraph.listed = number != 0
        elif word == "f" and number is not None:
            self.group = replace(self.group, font=number)
        elif word in ("v", "deleted"):
            self.group = replace(self.group, unseen=number != 0)
        elif word == "plain":
            self.group = replace(self.group, unseen=False, font=-1)
        elif word == "uc":
            self.group = replace(self.group, skipped_after_unicode=number or 0)
        elif word == "ansicpg" and _known(f"cp{number}"):
            self.encoding = f"cp{number}"
        elif word in ENCODINGS:
            self.encoding = ENCODINGS[word]

    def _taken(self) -> str:
        text = "".join(self.buffers.pop("body", []))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs of \u become one character

    def _end_paragraph(self) -> None:
        if self.group.goes_to == "note":
            self.buffers.setdefault("note", []).append("\n")
            return
        if self.paragraph.in_table or self.row:
            self.buffers.setdefault("body", []).append(" ")
            return
        text = self._taken()
        if text.strip():
            self._end_table()
            outline = self.paragraph.outline
            level = outline + 1 if 0 <= outline < 9 else self.levels.get(self.paragraph.style, 0)
            kind = SegmentKind.LIST_ITEM if self.paragraph.listed else SegmentKind.PARAGRAPH
            self.blocks.append(_Block(SegmentKind.HEADING if level else kind, text, level))
        self._end_notes()

    def _end_table(self) -> None:
        if self.rows:
            self.blocks.append(_Block(SegmentKind.TABLE, table_text(self.rows)))
            self.rows = []
            self._end_notes()

    def _end_notes(self) -> None:
        self.blocks += [_Block(SegmentKind.PARAGRAPH, note) for note in self.notes]
        self.notes = []


def extract_rich_text(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of an RTF file; what is left out is named."""
    reading = _Reading(writer)
    reading.run(content.decode("latin-1"))
    writer.title = "".join(reading.buffers.get("title", [])).strip()
    has_styles = any(block.level for block in reading.blocks)
    for block in reading.blocks:
        level = block.level
        if not has_styles and block.kind is SegmentKind.PARAGRAPH and "\n" not in block.text.strip():
            level = heading_level(block.text.strip())
        if level:
            writer.heading(block.text, level)
        else:
            writer.add(block.kind, block.text)


def _known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True


__all__ = ["EXTRACTOR_ID", "extract_rich_text"]
