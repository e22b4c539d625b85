"""Writing the index: whole commits, merges that nobody waits for, and what is done to a folder that changed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_library.index_writing import IndexEntry, IndexUnusable
from local_library.lexical_index import LexicalIndex
from local_library.tokens import Analysis


def entry(number: int, document: str = "") -> IndexEntry:
    text = Analysis(f"word{number}", "", "")
    return IndexEntry(number, document or f"document{number}", f"chunk{number}", "hash", "reader", "cutter", text, "")


def segments(index: LexicalIndex) -> list[int]:
    """How many entries each segment of the owner's index holds."""
    meta = json.loads((index.path_of("ann") / "meta.json").read_text())
    return [one["max_doc"] for one in meta["segments"]]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalIndex]:
    """An index in a folder of its own."""
    made = LexicalIndex(tmp_path)
    yield made
    made.settle()


def test_small_commits_are_merged_without_another_commit(index: LexicalIndex) -> None:
    """However many imports there were, a search looks through few segments."""
    for number in range(40):
        with index.writing("ann") as writing:
            writing.replace(f"document{number}", [entry(number)])
    assert not index.is_settled
    index.settle()
    assert index.is_settled
    assert len(segments(index)) < 16
    assert index.count("ann") == sum(segments(index)) == 40


def test_a_block_that_fails_changes_nothing(index: LexicalIndex) -> None:
    """Neither what it added nor what it took away is there, now or after the next commit."""
    with index.writing("ann") as writing:
        writing.replace("a", [entry(1, "a"), entry(2, "a")])
    with pytest.raises(ZeroDivisionError), index.writing("ann") as writing:  # noqa: PT012
        writing.replace("a", [])
        writing.add(entry(3, "b"))
        raise ZeroDivisionError
    assert index.count("ann") == 2
    with index.writing("ann") as writing:
        writing.add(entry(4, "c"))
    assert index.count("ann") == 3


def test_two_owners_take_turns(index: LexicalIndex) -> None:
    """Only one index is open at a time; each owner's commits reach that owner's index."""
    for number in range(4):
        for owner in ("ann", "bob"):
            with index.writing(owner) as writing:
                writing.add(entry(number))
    index.erase("bob")
    assert (index.count("ann"), index.count("bob")) == (4, 0)
    with index.writing("ann") as writing:
        writing.add(entry(9))
    assert index.count("ann") == 5


def test_a_folder_that_was_deleted_is_begun_anew(index: LexicalIndex) -> None:
    """An index that stays open does not write into a folder that is gone."""
    with index.writing("ann") as writing:
        writing.add(entry(1))
    shutil.rmtree(index.path_of("ann"))
    with index.writing("ann") as writing:
        writing.add(entry(2))
    assert index.count("ann") == 1


def test_a_damaged_index_cannot_be_written(index: LexicalIndex) -> None:
    """It is told as what it is, so that the records can make it anew."""
    with index.writing("ann") as writing:
        writing.add(entry(1))
    index.settle()
    (index.path_of("ann") / "meta.json").write_text("{")
    with pytest.raises(IndexUnusable), index.writing("ann") as writing:
        writing.add(entry(2))


def test_only_known_owners_keep_an_index(index: LexicalIndex, tmp_path: Path) -> None:
    """What an erasure that was cut off left is removed, and half-made indexes with it."""
    for owner in ("ann", "bob"):
        with index.writing(owner) as writing:
            writing.add(entry(1))
    index.path_of("ann").with_suffix(".new").mkdir()
    index.drop_strays(["ann"])
    assert [one.name for one in tmp_path.iterdir()] == [index.path_of("ann").name]
    assert index.count("ann") == 1
