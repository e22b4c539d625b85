"""Opening a database for the service, with the settings that it relies on."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgres": "postgresql+asyncpg", "postgresql": "postgresql+asyncpg"}
_BUSY_SECONDS = 10


def open_database(url: str) -> AsyncEngine:
    """An engine for ``sqlite:///path`` or ``postgresql://...``. Raises `ValueError` for any other database.

    SQLite is set to write ahead and to wait for a busy file: readers and the one writer do not stop each other. Errors
    do not repeat the values of a statement: these are words of documents and of questions.
    """
    parsed = sa.make_url(url)
    backend = parsed.get_backend_name()
    if backend not in _DRIVERS:
        raise ValueError(f"The knowledge service runs on SQLite or PostgreSQL, not on {backend!r}.")
    if "+" not in parsed.drivername:
        parsed = parsed.set(drivername=_DRIVERS[backend])
    if backend != "sqlite":
        return create_async_engine(parsed, pool_pre_ping=True, hide_parameters=True)
    engine = create_async_engine(parsed, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
    sa.event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    sa.event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transactions begin too late for a read that is followed by a write.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("pragma journal_mode=wal")
    cursor.execute("pragma synchronous=full")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    wanted = connection.get_execution_options().get("sqlite_begin", "deferred")
    connection.exec_driver_sql(f"begin {wanted}")


__all__ = ["open_database"]
