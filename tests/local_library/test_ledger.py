"""The one place that writes records: whole transactions, of one owner each."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_library.ledger import UnitOfWork, document_id_for, unit_of_work
from local_library.records import Chunk, ExtractedText, Heading
from local_library.schema import connected, prepare

EXTRACTED = ExtractedText("hash", "reader", "Title", ())
PATH = "/note.md"


def chunks(count: int) -> list[Chunk]:
    return [
        Chunk(f"chunk{number}", number, f"text {number}", ("A",), "L1", 0, 1, "hash", "reader", "cutter")
        for number in range(count)
    ]


def store(work: UnitOfWork, path: str = PATH, count: int = 2, language: str = "english") -> tuple[str, str]:
    """A new version of the document at ``path``, with all that can be derived from it."""
    ids = work.append_version(path, "hash", 10, "text/plain", now=1.0)
    work.replace_extraction(
        *ids,
        EXTRACTED,
        chunks(count),
        chunker_id="cutter",
        title="Title",
        summary="Summary",
        headings=[Heading("A", 1, f"{path}#A")],
        language=language,
    )
    work.keep_derived_summary(ids[1], "model", "hash", "Derived")
    return ids


def rows(connection: sqlite3.Connection, owner_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of an owner, in every table that has owners."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    owned = [name for name in tables if not name.startswith("sqlite_")]
    everything = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in owned}  # noqa: S608
    return {name: sorted(tuple(row) for row in found if owner_id in tuple(row)) for name, found in everything.items()}


def counts(connection: sqlite3.Connection, owner_id: str) -> dict[str, int]:
    return {name: len(found) for name, found in rows(connection, owner_id).items() if found}


@pytest.fixture
def records(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Records of two owners who have the same document and the same quarantined file, in two versions each."""
    connection = connected(tmp_path / "records")
    prepare(connection)
    for owner_id in ("ann", "bob"):
        with unit_of_work(connection, owner_id) as work:
            store(work)
            store(work)
            work.quarantine("/bad.md", "empty", "It is empty.")
            work.plan_purge()
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "write",
    [
        store,
        lambda work: work.quarantine("/bad.md", "damaged", "It is damaged."),
        lambda work: work.release("/bad.md"),
        lambda work: work.erase_document(document_id_for("bob", PATH)),
        lambda work: work.erase_document(document_id_for("ann", PATH)),
        UnitOfWork.erase_owner,
        UnitOfWork.plan_purge,
        UnitOfWork.purge_done,
        lambda work: work.index_done(1_000),
    ],
)
def test_nothing_reaches_the_records_of_another_owner(
    records: sqlite3.Connection, write: Callable[[UnitOfWork], object]
) -> None:
    """Whatever is written for one owner, every row of the other stays, even with the other's ids and paths."""
    before = rows(records, "bob")
    assert all(before.values())
    with unit_of_work(records, "ann") as work:
        write(work)
    assert rows(records, "bob") == before


def test_a_unit_of_work_that_fails_writes_nothing(records: sqlite3.Connection) -> None:
    """All of it or nothing."""
    before = rows(records, "ann")
    with pytest.raises(ZeroDivisionError), unit_of_work(records, "ann") as work:  # noqa: PT012
        store(work, "/other.md")
        work.erase_document(document_id_for("ann", PATH))
        raise ZeroDivisionError
    assert rows(records, "ann") == before


def test_versions_are_numbered_and_only_the_newest_has_passages(records: sqlite3.Connection) -> None:
    """Older versions stay as records; what was derived from them goes."""
    with unit_of_work(records, "ann") as work:
        document_id, version_id = store(work, count=5)
    found = rows(records, "ann")
    assert sorted(row[3] for row in found["versions"]) == [1, 2, 3]
    assert [row[:4] for row in found["documents"]] == [("ann", document_id, PATH, version_id)]
    assert {row[3] for row in found["passages"]} == {version_id}
    assert len(found["passages"]) == 5
    assert [row[1] for row in found["extractions"]] == [version_id]
    assert [row[1] for row in found["derived_summaries"]] == [version_id]
    assert found["totals"] == [("ann", 1, 5)]
    assert found["languages"] == [("ann", "english", 1)]


def test_an_erased_document_leaves_only_work_for_the_index(records: sqlite3.Connection) -> None:
    """With its versions goes what was said of its path in quarantine, but of no other."""
    with unit_of_work(records, "ann") as work:
        work.quarantine(PATH, "damaged", "It became damaged.")
        work.purge_done()
        work.erase_document(document_id_for("ann", PATH))
    assert counts(records, "ann") == {"quarantine": 1, "totals": 1, "index_work": 1}
    assert rows(records, "ann")["totals"] == [("ann", 0, 0)]
    assert rows(records, "ann")["quarantine"][0][1] == "/bad.md"


def test_an_erased_owner_leaves_no_row(records: sqlite3.Connection) -> None:
    """In no table, whatever tables there are."""
    with unit_of_work(records, "ann") as work:
        work.erase_owner()
    assert counts(records, "ann") == {}


def test_index_work_is_done_up_to_what_was_taken_over(records: sqlite3.Connection) -> None:
    """What was planned meanwhile stays planned."""
    planned = [row[0] for row in rows(records, "ann")["index_work"]]
    with unit_of_work(records, "ann") as work:
        work.index_done(planned[0])
        store(work)
    left = [row[0] for row in rows(records, "ann")["index_work"]]
    assert planned[0] not in left
    assert left[:-1] == planned[1:]
    assert len(left) == len(planned)
    with unit_of_work(records, "ann") as work:
        work.purge_done()
    assert {"index_work", "index_purges"} & counts(records, "ann").keys() == set()


def test_a_document_is_the_same_when_it_comes_again() -> None:
    """Ids are derived from owner and path, and tell neither apart by where one ends."""
    assert document_id_for("ann", "/a") == document_id_for("ann", "/a")
    assert len({document_id_for("ann", "/a"), document_id_for("bob", "/a"), document_id_for("ann", "/b")}) == 3
    assert document_id_for("a", "b/c") != document_id_for("ab", "/c")
