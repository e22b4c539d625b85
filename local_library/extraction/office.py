"""The parts of a Word or PowerPoint file: XML by name, and what a part refers to.

Names are compared without their namespace, since files of the strict variant use others for the same elements.
"""

import posixpath
from collections.abc import Iterator
from typing import Any

from .archive import checked_zip
from .markup import safe_xml
from .outcome import Unreadable


class Package:
    """A checked Office file. Parts that are missing or broken are None, so that the others can still be read."""

    def __init__(self, content: bytes) -> None:
        self._archive = checked_zip(content)
        self._names = {name.replace("\\", "/").lstrip("/").lower(): name for name in self._archive.namelist()}

    @property
    def names(self) -> frozenset[str]:
        """The parts' names in lower case."""
        return frozenset(self._names)

    def part(self, path: str) -> Any:
        """The root element of a part."""
        name = self._names.get(path.lower())
        if name is None:
            return None
        try:
            return safe_xml(self._archive.read(name))
        except Unreadable:
            return None

    def main(self, kind: str, usual: str) -> tuple[str, Any]:
        """Path and root of the part that the file is about; ``usual`` is where it lies when nothing says so."""
        for path in (*self.related("", "officeDocument").values(), usual):
            root = self.part(path)
            if root is not None and local(root) == kind:
                return path, root
        raise Unreadable("damaged", "lacks its text part", "Save it again from its program")

    def related(self, path: str, kind: str) -> dict[str, str]:
        """Where ``path`` points to with relationships of a ``kind``: their ids and the paths of parts."""
        folder, name = posixpath.split(path)
        relations = self.part(posixpath.join(folder, "_rels", f"{name}.rels"))
        return {
            relation.get("Id", ""): posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
            for relation in (() if relations is None else elements(relations))
            if relation.get("Type", "").endswith(f"/{kind}") and relation.get("TargetMode") != "External"
        }

    def title(self) -> str:
        """The title among the file's properties."""
        for path in (*self.related("", "core-properties").values(), "docProps/core.xml"):
            root = self.part(path)
            found = None if root is None else next(descendants(root, "title"), None)
            if found is not None and found.text:
                return " ".join(found.text.split())
        return ""


def local(element: Any) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def elements(parent: Any) -> Iterator[Any]:
    """The children that are elements, not comments."""
    return (child for child in parent if isinstance(child.tag, str))


def child(parent: Any, *path: str) -> Any:
    """The first element below ``parent`` along ``path``."""
    for name in path:
        parent = next((one for one in elements(parent) if local(one) == name), None)
        if parent is None:
            return None
    return parent


def descendants(parent: Any, name: str) -> Iterator[Any]:
    """All elements of that name below ``parent``, in order."""
    return parent.iter(f"{{*}}{name}")  # type: ignore[no-any-return]


def attribute(element: Any, name: str, otherwise: str = "") -> str:
    """An attribute by its name without namespace."""
    if element is None:
        return otherwise
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), otherwise)


def is_on(element: Any) -> bool:
    """Whether a switch element is there and not set to off."""
    return element is not None and attribute(element, "val", "1") not in ("0", "false", "off")


def chosen(alternatives: Any) -> Any:
    """Of the alternative forms of one content, the one to read."""
    return next((one for one in elements(alternatives) if local(one) == "Choice"), child(alternatives, "Fallback"))


__all__ = ["Package", "attribute", "child", "chosen", "descendants", "elements", "is_on", "local"]
