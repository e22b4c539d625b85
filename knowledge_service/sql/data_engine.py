"""The system of record in a SQL database, read with the caller's identity.

Two walls: the object's policy is part of every statement, and on PostgreSQL the caller also reaches the database's own
row level security as the settings ``app.user_id``, ``app.tenant_id``, ``app.roles`` and ``app.system`` of the
transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..caller import ExecutionContext
from ..data_engine import Record, RecordQuery
from ..errors import DataEngineFailed, DataEngineUnsafe, InvalidWhere
from ..row_policy import ReadPolicy, RowPolicy
from .conditions import condition


@dataclass(frozen=True, slots=True)
class SqlObject:
    """A table as an object: its key column, and who may read which row (by default nobody any)."""

    table: sa.Table
    policy: ReadPolicy = field(default_factory=RowPolicy)
    id_column: str = "id"


class SqlDataEngine:
    """Reads objects through SQLAlchemy. ``system_engine`` is a connection of its own for the service's indexing.

    With ``row_level_security`` the database must hold callers apart as well; `verify` refuses one that does not.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        objects: Mapping[str, SqlObject],
        *,
        system_engine: AsyncEngine | None = None,
        row_level_security: bool = False,
    ) -> None:
        self._engine = engine
        self._system_engine = system_engine or engine
        self._objects = dict(objects)
        self._row_level_security = row_level_security

    async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]:
        held = self._object(query.object)
        readable = held.policy.condition(caller)
        if readable is None or query.ids == ():
            return []
        try:
            statement = self._statement(held, query).where(condition(readable, held.table))
            async with (self._system_engine if caller.is_system else self._engine).begin() as connection:
                await self._introduce(connection, caller)
                found = await connection.execute(statement)
                return [Record(str(row[0]), dict(zip(query.fields, row[1:], strict=True))) for row in found]
        except (SQLAlchemyError, OSError, InvalidWhere) as error:
            raise DataEngineFailed(query.object) from error

    async def verify(self) -> None:
        """Refuse a database that would not hold callers apart. Raises `DataEngineUnsafe`, which says what to change."""
        if not self._row_level_security:
            return
        async with self._engine.connect() as connection:
            if connection.dialect.name != "postgresql":
                raise DataEngineUnsafe("Row level security needs PostgreSQL; this database has none.")
            role = (await connection.execute(_ROLE)).one()
            if role.rolsuper or role.rolbypassrls:
                raise DataEngineUnsafe(
                    "The database role of callers bypasses row level security. "
                    "Use a role without SUPERUSER and BYPASSRLS."
                )
            for name, held in self._objects.items():
                await _verify_table(connection, name, held.table)

    def _object(self, name: str) -> SqlObject:
        if name not in self._objects:
            raise DataEngineFailed(name, "is not declared")
        return self._objects[name]

    def _statement(self, held: SqlObject, query: RecordQuery) -> sa.Select[Any]:
        key = held.table.c[held.id_column]
        dialect = self._engine.dialect.name
        unknown = [name for name in query.fields if name not in held.table.c]
        if unknown:
            raise InvalidWhere(f"Object {query.object!r} has no field {unknown[0]!r}.")
        statement = sa.select(key, *(held.table.c[name].label(f"field_{name}") for name in query.fields))
        statement = statement.where(condition(query.where, held.table)).order_by(key).limit(query.limit)
        if query.ids is not None:
            parsed = [value for one in query.ids if (value := key_from(key, one, dialect)) is not None]
            statement = statement.where(key.in_(parsed))
        if query.after is not None:
            statement = statement.where(key > key_from(key, query.after, dialect))
        return statement

    async def _introduce(self, connection: AsyncConnection, caller: ExecutionContext) -> None:
        if connection.dialect.name != "postgresql":
            return
        # A role name with a comma in it would read as two; such a role is not passed on.
        roles = ",".join(sorted(role for role in caller.roles if "," not in role))
        facts = {
            "app.user_id": "" if caller.is_system else caller.user_id,
            "app.tenant_id": caller.tenant_id,
            "app.roles": roles,
            "app.system": "on" if caller.is_system else "off",
        }
        settings = [sa.func.set_config(name, value, True) for name, value in facts.items()]
        await connection.execute(sa.select(*settings))


_ROLE = sa.text("select rolsuper, rolbypassrls from pg_roles where rolname = current_user")
_TABLE = sa.text(
    "select relrowsecurity, relforcerowsecurity, pg_get_userbyid(relowner) = current_user as owned "
    "from pg_class where oid = cast(:name as regclass)"
)


async def _verify_table(connection: AsyncConnection, name: str, table: sa.Table) -> None:
    quoted = connection.dialect.identifier_preparer.format_table(table)
    found = (await connection.execute(_TABLE, {"name": quoted})).one()
    if not found.relrowsecurity:
        raise DataEngineUnsafe(f"Object {name!r} has no row level security. ENABLE it on its table.")
    if found.owned and not found.relforcerowsecurity:
        raise DataEngineUnsafe(f"Object {name!r} is owned by the role of callers, whom its policies skip. FORCE them.")


def key_from(column: sa.Column[Any], text: str, dialect: str) -> Any:
    """The key that is written as ``text``, or `None`: ``"7"`` is 7, but ``"07"`` and a full-width seven are nothing.

    What the database could not even compare is nothing too: one forged id must not fail the look-up of all others.
    """
    held = column.type.python_type
    try:
        key = held(text)
    except (ValueError, TypeError, ArithmeticError):
        return None
    if isinstance(key, int) and not -(2 ** _bits(column, dialect)) <= key < 2 ** _bits(column, dialect):
        return None
    return key if str(key) == text and "\0" not in text else None


def _bits(column: sa.Column[Any], dialect: str) -> int:
    if dialect == "sqlite" or isinstance(column.type, sa.BigInteger):
        return 63
    return 15 if isinstance(column.type, sa.SmallInteger) else 31


__all__ = ["SqlDataEngine", "SqlObject", "key_from"]
