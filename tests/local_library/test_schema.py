"""A store of an earlier version opens with nothing lost; one of another program is refused."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_library.catalog import Catalog
from local_library.ledger import document_id_for, unit_of_work
from local_library.records import ExtractedText
from local_library.schema import SCHEMA_VERSION, connected, prepare

EXTRACTED = ExtractedText("0" * 64, "extractor", "", ())


def structure(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The columns of each table, and the names of all triggers and indexes."""
    things = connection.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
    tables = {name: [row["name"] for row in connection.execute(f"PRAGMA table_info({name})")] for _, name in things}
    return tables | {"": [name for kind, name in things if kind != "table"]}


def take_back(connection: sqlite3.Connection, version: int, added_since: list[str]) -> None:
    """Make the records those of an earlier version."""
    for column in added_since:
        connection.execute(f"ALTER TABLE extractions DROP COLUMN {column}")
    for trigger in ("count_language", "discount_language"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("DROP TABLE languages")
    connection.execute(f"PRAGMA user_version = {version}")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Records of three documents of one owner, two in English and one in German."""
    connection = connected(tmp_path / "records")
    prepare(connection)
    for number, language in enumerate(("english", "english", "german")):
        with unit_of_work(connection, "ann") as work:
            ids = work.append_version(f"/{number}", "0" * 64, 1, "text/plain")
            work.replace_extraction(
                *ids, EXTRACTED, (), chunker_id="", title="", summary="", headings=(), language=language
            )
    connection.close()
    return tmp_path / "records"


@pytest.mark.parametrize(("version", "added_since"), [(1, ["uri", "pages"]), (2, ["pages"]), (3, [])])
def test_a_store_of_an_earlier_version_gains_what_is_new_and_keeps_its_rows(
    filled: Path, version: int, added_since: list[str]
) -> None:
    """Nobody imports their documents again because of an update, and languages are counted as if from the start."""
    connection = connected(filled)
    wanted = structure(connection)
    take_back(connection, version, added_since)
    assert structure(connection) != wanted
    prepare(connection)
    assert structure(connection) == wanted
    assert connection.execute("SELECT documents FROM totals").fetchone()[0] == 3
    assert Catalog(connection).languages("ann") == ["english", "german"]
    with unit_of_work(connection, "ann") as work:
        work.erase_document(document_id_for("ann", "/0"))
        work.erase_document(document_id_for("ann", "/1"))
    assert Catalog(connection).languages("ann") == ["german"]
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    connection.close()


def test_an_update_that_fails_changes_nothing(filled: Path) -> None:
    """All steps are one transaction; what stands in the way is seen again next time."""
    connection = connected(filled)
    take_back(connection, 2, ["pages"])
    connection.execute("CREATE TABLE languages (in_the_way)")
    before = structure(connection)
    with pytest.raises(sqlite3.OperationalError, match="languages"):
        prepare(connection)
    assert structure(connection) == before
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 2
    connection.close()


def test_two_processes_may_update_at_once(filled: Path) -> None:
    """The second finds the work done, and does nothing."""
    first, second = connected(filled), connected(filled)
    take_back(first, 2, ["pages"])
    first.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(prepare, second)
        first.execute("ALTER TABLE extractions ADD COLUMN pages INTEGER NOT NULL DEFAULT 0")
        first.execute("PRAGMA user_version = 3")
        first.execute("COMMIT")
        waiting.result(timeout=20)
    prepare(first)
    assert structure(first) == structure(second)
    first.close()
    second.close()


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """An older program does not touch what it cannot read."""
    connection = connected(tmp_path / "records")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(sqlite3.DatabaseError, match="schema"):
        prepare(connection)
    connection.close()
