"""The system of record, as the service sees it: rows of an object, as this caller may read them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .caller import ExecutionContext
from .errors import DataEngineFailed
from .row_policy import ReadPolicy, RowPolicy
from .where import Row, Where, matches


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery:
    """Rows of one object. ``ids`` restricts to these records, ``after`` continues a page in the engine's own order."""

    object: str
    fields: tuple[str, ...]
    where: Where = field(default_factory=dict)
    ids: tuple[str, ...] | None = None
    after: str | None = None
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Record:
    """One row: its id as text, and the fields that were asked for."""

    id: str
    values: Row


class DataEngine(Protocol):
    """Reads rows with the caller's identity; rows the caller may not read are simply not there.

    Raises `DataEngineFailed` when it cannot answer. An id that is not written exactly as the engine writes it is
    unknown.
    """

    async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]: ...


class MemoryDataEngine:
    """Rows in memory under the same policies as a database: for examples, tests and small hosts."""

    def __init__(self, policies: Mapping[str, ReadPolicy] | None = None) -> None:
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        self._policies = dict(policies or {})

    def put(self, object_name: str, record_id: str, **values: Any) -> None:
        self.rows.setdefault(object_name, {})[record_id] = values

    async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]:
        if query.object not in self.rows:
            raise DataEngineFailed(query.object, "does not exist")
        readable = self._policies.get(query.object, RowPolicy()).condition(caller)
        if readable is None:
            return []
        held = self.rows[query.object]
        found: list[Record] = []
        for record_id in _page(held, query):
            values = held[record_id]
            if matches(readable, values) and matches(query.where, values):
                found.append(Record(record_id, {name: values.get(name) for name in query.fields}))
            if len(found) == query.limit:
                break
        return found


def _page(held: Mapping[str, Any], query: RecordQuery) -> list[str]:
    wanted = set(query.ids) if query.ids is not None else None
    ids = sorted(held if wanted is None else wanted & held.keys())
    return ids[bisect_right(ids, query.after) :] if query.after is not None else ids


__all__ = ["DataEngine", "MemoryDataEngine", "Record", "RecordQuery"]
