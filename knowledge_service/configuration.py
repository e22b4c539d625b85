"""A whole service from one YAML file: database, objects and who may read them, indexes, sources.

    database: sqlite:///desk.sqlite
    objects:
      kb_article: {version: revision, readable: [{roles: [support]}, {where: {status: published}}]}
    indexes:
      main: {type: library, store: ./index}
    callers:
      ada: {roles: [support]}
    sources: [...]

Paths are relative to the file. Secrets are named by environment variables and never written here.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from .adapter import KnowledgeAdapter, adapter_from_plugin
from .audit import AuditLog
from .caller import ExecutionContext
from .errors import DataEngineFailed, InvalidSource
from .file_reader import FileReader, LocalFileStore
from .indexes.memory import MemoryIndex
from .page_reader import PageReader
from .readers import SourceReader
from .row_policy import RowPolicy
from .service import KnowledgeService
from .source_file import yaml_from
from .sources import sources_from
from .sql.data_engine import SqlDataEngine, SqlObject
from .sql.database import open_database
from .sql.ledger import SqlLedger
from .sql.outbox import Outbox
from .sql.schema import create_tables
from .sql.source_store import SourceStore
from .sql.triggers import install_triggers


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class ObjectSettings(_Part):
    table: str | None = None
    id: str = "id"
    version: str | None = None
    readable: tuple[dict[str, Any], ...] = ()


class CallerSettings(_Part):
    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    tenant_id: str = ""


class ServiceSettings(_Part):
    """The file's keys. ``callers`` maps owners of the gateway to what they hold; others are nobody."""

    database: str
    row_level_security: bool = False
    objects: dict[str, ObjectSettings] = Field(default_factory=dict)
    indexes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    callers: dict[str, CallerSettings] = Field(default_factory=dict)
    files: Path | None = None
    pages: bool = False
    audit: Path | None = None
    timeout_seconds: float = Field(default=2.0, gt=0)
    sources: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class OpenService:
    """A service with what its commands and workers need beside it."""

    service: KnowledgeService
    outbox: Outbox
    store: SourceStore
    audit: AuditLog | None
    engine: AsyncEngine


def load_settings(path: Path) -> ServiceSettings:
    """Raises `InvalidSource`, which names the file and the first wrong key; an unreadable file raises `OSError`."""
    data = yaml_from(path.read_text(encoding="utf-8"), path.name)
    try:
        return ServiceSettings.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidSource(path.name, f"{place!r} is wrong: {first['msg']}.") from error


@asynccontextmanager
async def open_service(path: Path) -> AsyncIterator[OpenService]:
    """Open the service that a file describes, and close it at the end."""
    settings = load_settings(path)
    home = _home(path)
    async with AsyncExitStack() as stack:
        engine = open_database(_database_url(settings.database, home))
        stack.push_async_callback(engine.dispose)
        objects = await _objects(engine, settings)
        data_engine = SqlDataEngine(engine, objects, row_level_security=settings.row_level_security)
        await data_engine.verify()
        audit = AuditLog(home / settings.audit, key=_audit_key()) if settings.audit else None
        service = KnowledgeService(
            data_engine=data_engine,
            ledger=SqlLedger(engine),
            callers=_callers(settings),
            readers=_readers(settings, home, stack),
            listeners=[audit.append] if audit else [],
            timeout_seconds=settings.timeout_seconds,
        )
        for name, options in settings.indexes.items():
            service.register_adapter(name, await _index(name, options, home, stack))
        stack.push_async_callback(service.close)
        store = SourceStore(engine)
        for source in [*sources_from(settings.sources), *await store.sources()]:
            service.register_source(source)
        await _forget_volatile(service)
        yield OpenService(service, Outbox(engine), store, audit, engine)


async def _forget_volatile(service: KnowledgeService) -> None:
    """An index in memory is empty at each start; the ledger must not say otherwise."""
    for source in service.list_sources():
        if getattr(service.adapter(source.adapter), "volatile", False):
            while held := await service.ledger.document_ids(source.id):
                await service.ledger.forget(source.id, held)
            await service.ledger.save_checkpoint(source.id, None)


def _home(path: Path) -> Path:
    return path.absolute().parent


def _database_url(url: str, home: Path) -> str:
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database and not Path(parsed.database).is_absolute():
        parsed = parsed.set(database=str(home / parsed.database))
    variable = parsed.query.get("password_variable")
    if isinstance(variable, str):
        parsed = parsed.difference_update_query(["password_variable"]).set(password=_secret(variable))
    return parsed.render_as_string(hide_password=False)


async def _objects(engine: AsyncEngine, settings: ServiceSettings) -> dict[str, SqlObject]:
    """The declared tables as the database has them, with triggers that note their changes."""
    found: dict[str, SqlObject] = {}
    try:
        async with engine.begin() as connection:
            await create_tables(connection)
            for name, declared in settings.objects.items():
                table = await connection.run_sync(_reflected, declared.table or name)
                await install_triggers(
                    connection, table, object_name=name, id_column=declared.id, version_column=declared.version
                )
                found[name] = SqlObject(table, RowPolicy.of(*declared.readable), declared.id)
    except (SQLAlchemyError, OSError) as error:
        raise DataEngineFailed(", ".join(settings.objects), "cannot be prepared") from error
    return found


def _reflected(connection: sa.Connection, name: str) -> sa.Table:
    return sa.Table(name, sa.MetaData(), autoload_with=connection)


def _callers(settings: ServiceSettings) -> Any:
    known = {
        owner: ExecutionContext(user_id=owner, tenant_id=held.tenant_id, roles=held.roles, permissions=held.permissions)
        for owner, held in settings.callers.items()
    }
    return known.get


def _readers(settings: ServiceSettings, home: Path, stack: AsyncExitStack) -> dict[str, SourceReader]:
    readers: dict[str, SourceReader] = {}
    if settings.files is not None:
        readers["file"] = FileReader(LocalFileStore(home / settings.files))
    if settings.pages:
        pages = PageReader()
        stack.push_async_callback(pages.close)
        readers["http"] = pages
    return readers


async def _index(name: str, options: Mapping[str, Any], home: Path, stack: AsyncExitStack) -> KnowledgeAdapter:
    kind = options.get("type")
    try:
        if kind == "memory":
            return MemoryIndex()
        if kind == "library":
            from .indexes.library import open_library_index

            return open_library_index(home / options["store"])
        if kind == "ragflow":
            from .indexes.ragflow import RagflowIndex

            return RagflowIndex(options["url"], _secret(options["keyVariable"]), name=name)
        if kind == "postgres":
            from .indexes.postgres import PostgresIndex

            engine = open_database(_database_url(options["database"], home))
            stack.push_async_callback(engine.dispose)
            index = PostgresIndex(engine, name=name)
            await index.prepare()
            return index
    except KeyError as error:
        raise InvalidSource(name, f"index of type {kind!r} needs the key {error.args[0]!r}.") from error
    return adapter_from_plugin(str(kind), {**options, "home": str(home)})


def _secret(variable: str) -> str:
    found = os.environ.get(variable, "")
    if not found:
        raise InvalidSource(variable, "is named as a secret and the environment has no such variable.")
    return found


def _audit_key() -> bytes:
    return os.environ.get("EARPIECE_AUDIT_KEY", "").encode()


__all__ = ["OpenService", "ServiceSettings", "load_settings", "open_service"]
