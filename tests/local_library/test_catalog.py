"""Reading records: each answer is of one owner, and of current versions only."""

import inspect
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from local_library.catalog import Catalog
from local_library.ledger import UnitOfWork, document_id_for, unit_of_work
from local_library.records import Chunk, ExtractedText
from local_library.schema import connected, prepare


def store(work: UnitOfWork, path: str, *texts: str, language: str = "english", title: str = "Title") -> None:
    """A new version of the document at ``path`` with these passages; all of a document's versions differ."""
    fingerprint = f"hash of {texts}"
    document_id, version_id = work.append_version(path, fingerprint, 10, "text/plain", now=1.0)
    chunks = [
        Chunk(f"{path} {number}", number, text, ("A",), "L1", 0, 1, fingerprint, "reader", "cutter")
        for number, text in enumerate(texts)
    ]
    work.replace_extraction(
        document_id,
        version_id,
        ExtractedText(fingerprint, "reader", title, ()),
        chunks,
        chunker_id="cutter",
        title=title,
        summary="",
        headings=(),
        language=language,
    )


def fill(connection: sqlite3.Connection, owner_id: str) -> None:
    with unit_of_work(connection, owner_id) as work:
        store(work, "/b.md", "z first", "y second", "x third")
        store(work, "/a.md", "old")
        store(work, "/a.md", "new", language="german", title="Andere")
        store(work, "/c.md", "one more", language="german")
        work.quarantine("/bad.md", "empty", "It is empty.")
        work.plan_purge()


def records(folder: Path, owners: Iterable[str]) -> sqlite3.Connection:
    folder.mkdir()
    connection = connected(folder / "records")
    prepare(connection)
    for owner_id in owners:
        fill(connection, owner_id)
    return connection


A, C = document_id_for("ann", "/a.md"), document_id_for("ann", "/c.md")
ASKED: dict[str, Callable[[Catalog, str], object]] = {
    "documents": lambda catalog, owner: [(one.path, one.version) for one in catalog.documents(owner)],
    "names": lambda catalog, owner: catalog.names(owner),
    "document": lambda catalog, owner: getattr(catalog.document(owner, A), "path", None),
    "document_at": lambda catalog, owner: getattr(catalog.document_at(owner, "/a.md"), "title", None),
    "some_documents": lambda catalog, owner: sorted(catalog.some_documents(owner, [A, C, "none"])),
    "passage": lambda catalog, owner: getattr(catalog.passage(owner, 5), "title", None),
    "passages": lambda catalog, owner: {k: v.chunk.text for k, v in catalog.passages(owner, range(20)).items()},
    "passages_of": lambda catalog, owner: [one.chunk.text for one in catalog.passages_of(owner, A)],
    "passage_ids": lambda catalog, owner: sorted(catalog.passage_ids(owner)),
    "document_ids": lambda catalog, owner: sorted(catalog.document_ids(owner)),
    "counts": lambda catalog, owner: catalog.counts(owner),
    "languages": lambda catalog, owner: catalog.languages(owner),
    "hashes": lambda catalog, owner: catalog.hashes(owner, A),
    "uses_hash": lambda catalog, owner: catalog.uses_hash(owner, "hash of ('new',)"),
    "all_hashes": lambda catalog, owner: catalog.all_hashes(owner),
    "quarantined": lambda catalog, owner: [one.reason_code for one in catalog.quarantined(owner)],
}


def test_every_question_about_an_owner_is_asked_here() -> None:
    """A new method of the catalog has to show, too, that it does not mix owners."""
    methods = inspect.getmembers(Catalog, inspect.isfunction)
    owned = {name for name, method in methods if "owner_id" in inspect.signature(method).parameters}
    assert owned == set(ASKED)


@pytest.mark.parametrize("question", ASKED)
def test_an_owner_sees_what_nobody_else_has(tmp_path: Path, question: str) -> None:
    """The same answer whether another owner has the same documents or not; nothing for one who has none."""
    alone, shared = records(tmp_path / "1", ["ann"]), records(tmp_path / "2", ["ann", "bob"])
    ask = ASKED[question]
    answer = ask(Catalog(shared), "ann")
    assert answer == ask(Catalog(alone), "ann")
    assert answer
    assert not ask(Catalog(shared), "eve") or ask(Catalog(shared), "eve") == (0, 0)
    alone.close()
    shared.close()


def test_only_current_versions_are_answered(tmp_path: Path) -> None:
    """What a newer version replaced is neither listed nor read; its hash is still known."""
    connection = records(tmp_path / "1", ["ann"])
    catalog = Catalog(connection)
    assert [(one.title, one.path, one.version, one.passages) for one in catalog.documents("ann")] == [
        ("Andere", "/a.md", 2, 1),
        ("Title", "/b.md", 1, 3),
        ("Title", "/c.md", 1, 1),
    ]
    assert [one.chunk.text for one in catalog.passages_of("ann", A)] == ["new"]
    assert "old" not in {one.chunk.text for one in catalog.passages("ann", range(20)).values()}
    assert catalog.hashes("ann", A) == {"hash of ('old',)", "hash of ('new',)"}
    assert catalog.counts("ann") == (3, 5)
    connection.close()


def test_passages_come_in_reading_order_and_languages_by_their_use(tmp_path: Path) -> None:
    """Neither by their words nor by their names."""
    connection = records(tmp_path / "1", ["ann"])
    catalog = Catalog(connection)
    passages = catalog.passages_of("ann", document_id_for("ann", "/b.md"))
    assert [one.chunk.text for one in passages] == ["z first", "y second", "x third"]
    assert catalog.languages("ann") == ["german", "english"]
    connection.close()


def test_owners_are_those_with_documents(tmp_path: Path) -> None:
    """An owner of a single document counts; one whose documents were erased does not."""
    connection = records(tmp_path / "1", ["ann", "bob"])
    with unit_of_work(connection, "cyd") as work:
        store(work, "/a.md", "alone")
    with unit_of_work(connection, "bob") as work:
        for path in ("/a.md", "/b.md", "/c.md"):
            work.erase_document(document_id_for("bob", path))
    catalog = Catalog(connection)
    assert sorted(catalog.owners()) == ["ann", "cyd"]
    assert sorted(catalog.purges()) == ["ann", "bob"]
    assert {owner for _, owner, _ in catalog.index_work()} == {"ann", "bob", "cyd"}
    connection.close()
