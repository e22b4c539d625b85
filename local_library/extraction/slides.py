"""PowerPoint: each slide under its title, with its text, tables, diagrams and notes."""

from collections.abc import Iterator
from typing import Any

from ..records import SegmentKind
from .office import Package, attribute, child, chosen, descendants, elements, local
from .segments import SegmentWriter
from .tables import table_text

EXTRACTOR_ID = "pptx-2"
_DEEPEST_GROUP = 8
_LONGEST_TITLE = 120
_TITLES = frozenset({"title", "ctrTitle"})
_REPEATED = frozenset({"dt", "ftr", "sldNum", "hdr"})


def extract_slides(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a .pptx file; a slide's number is its place."""
    package = Package(content)
    path, root = package.main("presentation", "ppt/presentation.xml")
    writer.title = package.title()
    if writer.title == "PowerPoint Presentation":
        writer.title = ""
    known = package.related(path, "slide")
    order = child(root, "sldIdLst")
    wanted = [] if order is None else [known.get(_relation(one, "id")) for one in elements(order)]
    writer.pages = len(wanted)
    for number, slide in enumerate(wanted, start=1):
        found = package.part(slide) if slide else None
        if found is None or slide is None:
            writer.warn(f"Slide {number} is missing or damaged.")
            continue
        _Slide(package, slide, writer, f"slide={number}").write(found)


class _Slide:
    def __init__(self, package: Package, path: str, writer: SegmentWriter, place: str) -> None:
        self._package = package
        self._path = path
        self._writer = writer
        self._place = place

    def write(self, root: Any) -> None:
        shapes = list(self._shapes(child(root, "cSld", "spTree"), 0))
        title = next((one for one in shapes if _holder(one) in _TITLES and _text(one).strip()), None)
        if title is None:  # an untitled slide is known by its first line
            title = next((one for one in shapes if _is_title_like(one)), None)
        if title is not None:
            self._writer.heading(_text(title), 1, place=self._place)
        for shape in shapes:
            if shape is not title and _holder(shape) not in _REPEATED:
                self._write(shape)
        for notes in self._package.related(self._path, "notesSlide").values():
            self._write_notes(self._package.part(notes))

    def _shapes(self, tree: Any, depth: int) -> Iterator[Any]:
        for shape in () if tree is None else elements(tree):
            if local(shape) == "AlternateContent":
                yield from self._shapes(chosen(shape), depth)
            elif local(shape) != "grpSp":
                yield shape
            elif depth < _DEEPEST_GROUP:
                yield from self._shapes(shape, depth + 1)
            else:
                self._writer.warn("Parts nested too deeply were left out.")

    def _write(self, shape: Any) -> None:
        name = local(shape)
        if name == "pic":
            self._writer.warn("Pictures were left out.")
        elif name == "graphicFrame":
            self._write_graphic(child(shape, "graphic", "graphicData"))
        elif name in ("sp", "cxnSp"):
            self._writer.add(SegmentKind.PARAGRAPH, _text(shape), place=self._place)

    def _write_graphic(self, data: Any) -> None:
        for table in descendants(data, "tbl") if data is not None else ():
            rows = [[_text(cell) for cell in descendants(row, "tc")] for row in descendants(table, "tr")]
            self._writer.add(SegmentKind.TABLE, table_text(rows), place=self._place)
        kind = attribute(data, "uri").rpartition("/")[2]
        if kind == "chart":
            self._writer.warn("Charts were left out.")
        elif kind == "diagram" and (model := self._model(data)) is not None:
            texts = (_text(point) for point in descendants(model, "pt"))
            self._writer.add(SegmentKind.PARAGRAPH, "\n".join(filter(str.strip, texts)), place=self._place)

    def _model(self, data: Any) -> Any:
        path = self._package.related(self._path, "diagramData").get(_relation(child(data, "relIds"), "dm"))
        return self._package.part(path) if path else None

    def _write_notes(self, root: Any) -> None:
        for shape in () if root is None else self._shapes(child(root, "cSld", "spTree"), 0):
            if _holder(shape) == "body":
                self._writer.add(SegmentKind.PARAGRAPH, _text(shape), place=self._place)


def _relation(element: Any, name: str) -> str:
    """A relationship's id; other attributes may have the same name without a namespace."""
    found = (value for key, value in element.items() if key.endswith(f"relationships}}{name}"))
    return next(map(str, found), "")


def _holder(shape: Any) -> str:
    """What a placeholder holds; empty for a shape that is none."""
    place = next(descendants(shape, "ph"), None)
    return "" if place is None else attribute(place, "type", "obj")


def _is_title_like(shape: Any) -> bool:
    return local(shape) == "sp" and _holder(shape) not in _REPEATED and 0 < len(_text(shape).strip()) <= _LONGEST_TITLE


def _text(shape: Any) -> str:
    """A line for each paragraph; line breaks within one are kept as a blank."""
    return "\n".join("".join(map(_run, _runs(paragraph))) for paragraph in descendants(shape, "p"))


def _runs(paragraph: Any) -> Iterator[Any]:
    return paragraph.iter("{*}t", "{*}br")  # type: ignore[no-any-return]


def _run(part: Any) -> str:
    return part.text or "" if local(part) == "t" else " "


__all__ = ["EXTRACTOR_ID", "extract_slides"]
