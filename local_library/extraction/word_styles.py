"""What the styles of a Word document say of a paragraph: its level as a heading, whether it is a list item."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .office import attribute, child, descendants, elements, local

_HEADING = re.compile(r"^(?:heading|überschrift|titre|título|标题|標題|rubrik|kop)\s*(\d)$", re.IGNORECASE)
_TITLES = frozenset({"title", "titel", "titre", "título", "标题", "標題"})
_LONGEST_CHAIN = 20
_BODY_LEVEL = 9


@dataclass(frozen=True, slots=True)
class Style:
    """What a paragraph is by its style and those below it; ``level`` is 0 for other text than headings."""

    level: int = 0
    is_title: bool = False
    is_contents: bool = False
    is_list_item: bool = False


class Styles:
    """The paragraph styles of a document, each with the ones it is based on."""

    def __init__(self, root: Any) -> None:
        found = () if root is None else [one for one in elements(root) if local(one) == "style"]
        self._by_id = {attribute(one, "styleId"): one for one in found}
        self._read: dict[str, Style] = {}

    def of(self, paragraph: Any) -> Style:
        """The style of a paragraph; its own settings go before those of its style."""
        settings = child(paragraph, "pPr")
        if settings is None:
            return Style()
        style = self._named(attribute(child(settings, "pStyle"), "val"))
        outline = _outline(child(settings, "outlineLvl"))
        numbered = child(settings, "numPr", "numId")
        if outline is None and numbered is None:
            return style
        listed = style.is_list_item if numbered is None else attribute(numbered, "val") != "0"
        return Style(style.level if outline is None else outline, style.is_title, style.is_contents, listed)

    def _named(self, style_id: str) -> Style:
        if style_id not in self._read:
            self._read[style_id] = _style(list(self._chain(style_id)))
        return self._read[style_id]

    def _chain(self, style_id: str) -> Iterator[Any]:
        for _ in range(_LONGEST_CHAIN):
            style = self._by_id.get(style_id)
            if style is None:
                return
            yield style
            style_id = attribute(child(style, "basedOn"), "val")


def notes(root: Any) -> dict[str, Any]:
    """The footnotes or endnotes of a part by their id, without the separators."""
    found = () if root is None else (*descendants(root, "footnote"), *descendants(root, "endnote"))
    return {attribute(one, "id"): one for one in found if attribute(one, "type", "normal") == "normal"}


def _style(chain: list[Any]) -> Style:
    names = [attribute(child(style, "name"), "val").strip().lower() for style in chain]
    return Style(
        level=next((level for level in map(_level, chain, names) if level is not None), 0),
        is_title=any(name in _TITLES for name in names),
        is_contents=any(re.match(r"toc \d", name) for name in names),
        is_list_item=any("list" in name for name in names)
        or any(child(style, "pPr", "numPr") is not None for style in chain),
    )


def _level(style: Any, name: str) -> int | None:
    """The level that one style says, None where it leaves that to the style below."""
    heading = _HEADING.match(name)
    return int(heading.group(1)) if heading is not None else _outline(child(style, "pPr", "outlineLvl"))


def _outline(element: Any) -> int | None:
    value = attribute(element, "val")
    return (int(value) + 1) % (_BODY_LEVEL + 1) if value.isdigit() and int(value) <= _BODY_LEVEL else None


__all__ = ["Style", "Styles", "notes"]
