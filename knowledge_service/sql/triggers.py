"""Triggers that note every change of a table in the outbox, whoever makes it and however.

With them no code of the host needs to know of the service: a retention job, an archiver, a statement typed by hand and
a write to a million rows at once are all noted, in the transaction of the write.
"""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from .schema import outbox

_SQLITE_NOW = "(julianday('now') - 2440587.5) * 86400.0"
_NOTED = {
    "insert": (("new", ""),),
    # An update that moves a row to another key leaves a document under the old one.
    "update": (("new", ""), ("old", "where old.{key} is not new.{key}")),
    "delete": (("old", ""),),
}


async def install_triggers(
    connection: AsyncConnection,
    table: sa.Table,
    *,
    object_name: str | None = None,
    id_column: str = "id",
    version_column: str | None = None,
) -> None:
    """Install, or replace, the triggers of one table. Needs the outbox table and the rights of the table's owner."""
    names = _Names(connection.dialect.identifier_preparer, table, object_name or table.name, id_column, version_column)
    statements = _postgresql(names) if connection.dialect.name == "postgresql" else _sqlite(names)
    for statement in statements:
        await connection.exec_driver_sql(statement)


class _Names:
    """Quoted names for one table's triggers; a quoted literal doubles its quotes."""

    def __init__(
        self,
        preparer: sa.sql.compiler.IdentifierPreparer,
        table: sa.Table,
        object_name: str,
        id_column: str,
        version_column: str | None,
    ) -> None:
        self.table = preparer.format_table(table)
        self.outbox = preparer.format_table(outbox)
        self.object = "'" + object_name.replace("'", "''") + "'"
        self.key = preparer.quote(id_column)
        self.version = None if version_column is None else preparer.quote(version_column)
        self._preparer = preparer
        self._stem = f"knowledge_{table.name}"

    def own(self, name: str) -> str:
        return self._preparer.quote(f"{self._stem}_{name}")

    def insert(self, row: str, now: str, when: str = "") -> str:
        version = f"{row}.{self.version}" if self.version else "null"
        columns = "object, record_id, version, created_at"
        values = f"{self.object}, cast({row}.{self.key} as text), {version}, {now}"
        return f"insert into {self.outbox} ({columns}) select {values} {when};"


def _sqlite(names: _Names) -> list[str]:
    statements = []
    for event, noted in _NOTED.items():
        body = " ".join(names.insert(row, _SQLITE_NOW, when.format(key=names.key)) for row, when in noted)
        statements.append(f"drop trigger if exists {names.own(event)}")
        statements.append(f"create trigger {names.own(event)} after {event} on {names.table} begin {body} end")
    return statements


def _postgresql(names: _Names) -> list[str]:
    now = "extract(epoch from clock_timestamp())"
    function, emptied = names.own("note"), names.own("note_emptied")
    # With the rights of its owner: whoever may write the table need not be able to touch the outbox.
    head = "returns trigger language plpgsql security definer set search_path from current as $body$ begin"
    moved = f"tg_op = 'UPDATE' and old.{names.key} is distinct from new.{names.key}"
    whole = f"insert into {names.outbox} (object, record_id, created_at) values ({names.object}, '', {now});"  # noqa: S608
    return [
        f"create or replace function {function}() {head} "
        f"if tg_op = 'DELETE' or ({moved}) then {names.insert('old', now)} end if; "
        f"if tg_op <> 'DELETE' then {names.insert('new', now)} end if; return null; end $body$",
        f"create or replace function {emptied}() {head} {whole} return null; end $body$",
        f"create or replace trigger {names.own('row')} after insert or update or delete on {names.table} "
        f"for each row execute function {function}()",
        f"create or replace trigger {names.own('truncate')} after truncate on {names.table} "
        f"for each statement execute function {emptied}()",
    ]


__all__ = ["install_triggers"]
