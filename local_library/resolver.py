"""Reads the text that a locator names, as it was when it was imported."""

from collections.abc import Iterator

from .catalog import Catalog
from .errors import DocumentNotFound
from .outline import locator_for
from .records import DocumentInfo, Passage, ReadText


class LocatorResolver:
    """Resolves locators within one owner's documents."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def read(self, owner_id: str, locator: str, *, limit_characters: int) -> ReadText:
        """The section, page, sheet or whole document that ``locator`` names, cut to ``limit_characters``.

        Raises `DocumentNotFound` for a path or a place that this owner's documents do not have.
        """
        document, place = self._document(owner_id, locator)
        passages = list(self._catalog.passages_of(owner_id, document.document_id))
        wanted = passages if not place else _at(passages, document, place)
        if not wanted:
            raise DocumentNotFound(locator)
        text = "\n\n".join(_texts(wanted))
        return ReadText(locator, document.title, text[:limit_characters], len(text) > limit_characters)

    def _document(self, owner_id: str, locator: str) -> tuple[DocumentInfo, str]:
        """The document, and the place after the path; a path may itself hold a ``#``."""
        cut = len(locator)
        while cut > 0:
            path = locator[:cut]
            found = self._catalog.document_at(owner_id, path) or self._catalog.document(owner_id, path)
            if found is not None:
                return found, locator[cut + 1 :]
            cut = locator.rfind("#", 0, cut)
        raise DocumentNotFound(locator)


def _at(passages: list[Passage], document: DocumentInfo, place: str) -> list[Passage]:
    """The passages at ``place``: its own section and those below, else any section under a heading of that name."""
    whole = f"{document.path}#{place}"
    exact = [one for one in passages if _is_at(one, document, whole)]
    return exact or [one for one in passages if place in one.chunk.heading_path]


def _is_at(passage: Passage, document: DocumentInfo, whole: str) -> bool:
    chunk = passage.chunk
    own = locator_for(document.path, chunk.heading_path, chunk.place, document.title)
    by_line = f"{document.path}#{chunk.place}" if chunk.place else ""
    return whole in (own, by_line) or own.startswith((f"{whole} > ", f"{whole}&rows="))


def _texts(passages: list[Passage]) -> Iterator[str]:
    before: tuple[str, ...] = ()
    for passage in passages:
        path = passage.chunk.heading_path
        heading = " > ".join(path) if path != before else ""
        before = path
        yield f"{heading}\n{passage.chunk.text}" if heading else passage.chunk.text


__all__ = ["LocatorResolver"]
