"""Many documents, some at a time: by title, by words of title and file name, never another owner's."""

import pytest

from local_library import DomainLibrary


@pytest.fixture
def stocked(library: DomainLibrary) -> DomainLibrary:
    """Thirty notes of Ann's and one of Ben's."""
    notes = [(f"/notes/n{number:02}.md", f"# Note {number:02}\n\nText {number}.\n".encode()) for number in range(30)]
    library.import_many([*notes, ("/notes/kettle.md", "# größe der KANNE\n\nText.\n".encode())], owner_id="ann")
    library.import_bytes("/notes/other.md", b"# Note of Ben\n\nText.\n", owner_id="ben")
    return library


def titles(library: DomainLibrary, words: str = "", **where: int) -> list[str]:
    return [one.title for one in library.browse(words, owner_id="ann", **where).documents]


def test_pages_follow_one_another_without_gap_or_overlap(stocked: DomainLibrary) -> None:
    """All pages together are the list; behind its end there is an empty page."""
    pages = [titles(stocked, offset=start, limit=7) for start in range(0, 42, 7)]
    assert [title for page in pages for title in page] == [one.title for one in stocked.list(owner_id="ann")]
    assert pages[-1] == []


def test_every_word_must_be_in_title_or_file_name(stocked: DomainLibrary) -> None:
    """In any order and in any case; what matches is counted beside what there is."""
    assert titles(stocked, "note 07") == ["Note 07"]
    assert titles(stocked, "07 NOTE") == ["Note 07"]
    assert titles(stocked, "kettle GRÖSSE") == ["größe der KANNE"]
    assert titles(stocked, "note kettle") == []
    page = stocked.browse("note", owner_id="ann", limit=5)
    assert (len(page.documents), page.matching, page.total) == (5, 30, 31)


def test_capital_letters_do_not_decide_the_order(stocked: DomainLibrary) -> None:
    """A person looks for it under its letter."""
    assert titles(stocked)[0] == "größe der KANNE"


def test_another_owners_documents_are_neither_shown_nor_counted(stocked: DomainLibrary) -> None:
    """Ben has one document, whatever he looks for."""
    page = stocked.browse("note", owner_id="ben")
    assert ([one.title for one in page.documents], page.matching, page.total) == (["Note of Ben"], 1, 1)
