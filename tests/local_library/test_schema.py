"""A store of an earlier version opens with nothing lost; one of another program is refused."""

import sqlite3
from pathlib import Path

import pytest

from local_library.schema import SCHEMA_VERSION, connected, prepare


def columns(connection: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in connection.execute("PRAGMA table_info(extractions)")]


@pytest.mark.parametrize(("version", "added_since"), [(1, ["uri", "pages"]), (2, ["pages"])])
def test_a_store_of_an_earlier_version_gains_the_new_columns_and_keeps_its_rows(
    tmp_path: Path, version: int, added_since: list[str]
) -> None:
    """Nobody imports their documents again because of an update."""
    connection = connected(tmp_path / "records")
    prepare(connection)
    wanted = columns(connection)
    for column in added_since:
        connection.execute(f"ALTER TABLE extractions DROP COLUMN {column}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("INSERT INTO totals (owner_id, documents) VALUES ('ann', 3)")
    prepare(connection)
    assert columns(connection) == wanted
    assert connection.execute("SELECT documents FROM totals").fetchone()[0] == 3
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    connection.close()


def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """An older program does not touch what it cannot read."""
    connection = connected(tmp_path / "records")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(sqlite3.DatabaseError, match="schema"):
        prepare(connection)
    connection.close()
