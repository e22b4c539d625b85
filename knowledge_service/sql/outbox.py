"""The outbox: changes that wait for their index, in the database of the rows themselves.

A change is written in the transaction of its row, so either both are there or neither. Writing it is one insert that
waits for nobody. Workers lease changes by record: two of them never work on the same record, and what a killed worker
held is free again when its lease ends.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..changes import RecordChange
from .schema import outbox

_o = outbox.c
_CLAIM_LOCK = 0x6561727069656365
"""One number for all workers of a database: they take turns in choosing, which takes a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """All waiting changes of one record up to ``sequence``, in the hands of one worker."""

    object: str
    record_id: str
    sequence: int
    version: int | None
    attempts: int
    created_at: float
    lease: str
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record whose changes are not tried any more, and the code of the last failure."""

    object: str
    record_id: str
    attempts: int
    code: str
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxStatus:
    """``lag_seconds`` is the age of the oldest change that is not dead."""

    pending: int
    dead: int
    lag_seconds: float


async def record_change(connection: AsyncConnection, change: RecordChange, *, at: float | None = None) -> None:
    """Note a change in the caller's own transaction: it is delivered if, and only if, that transaction commits."""
    await connection.execute(sa.insert(outbox), _line(change, time.time() if at is None else at))


class Outbox:
    """Claims, settles and buries changes. ``clock`` gives seconds since 1970.

    The claims of one call share a lease, and are settled, retried or buried in one statement.
    """

    def __init__(self, engine: AsyncEngine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        # A claim reads and then writes: SQLite must know from the start, or two workers stop each other.
        self._writing = engine.execution_options(sqlite_begin="immediate")
        self._clock = clock

    async def put(self, changes: Iterable[RecordChange]) -> None:
        """Note changes that an event bus brought, in a transaction of their own."""
        lines = [_line(change, self._clock()) for change in changes]
        if lines:
            async with self._engine.begin() as connection:
                await connection.execute(sa.insert(outbox), lines)

    async def claim(self, limit: int, *, lease_seconds: float) -> list[Claim]:
        """Lease at most ``limit`` records whose changes are due, oldest first."""
        now = self._clock()
        lease = uuid.uuid4().hex
        async with self._writing.begin() as connection:
            await _take_turns(connection)
            records = await self._due(connection, now, limit)
            if not records:
                return []
            held = sa.update(outbox).where(_of_records(records), _o.dead.is_(False))
            await connection.execute(held.values(lease=lease, leased_until=now + lease_seconds))
            return await _claims(connection, lease)

    async def settle(self, claims: Sequence[Claim]) -> None:
        """These records are in their index: their changes leave the outbox. Newer ones stay.

        A claim whose lease was lost meanwhile is noted as a new change, since two workers may have written its record.
        """
        if not claims:
            return
        records = [(claim.object, claim.record_id) for claim in claims]
        mine = sa.and_(_of_records(records), _o.lease == claims[0].lease)
        async with self._writing.begin() as connection:
            rows = await connection.execute(sa.select(_o.object, _o.record_id).where(mine).distinct())
            held = {(row[0], row[1]) for row in rows}
            await connection.execute(sa.delete(outbox).where(_of_records(list(held)), sa.or_(mine, _o.dead.is_(True))))
            for claim in claims:
                if (claim.object, claim.record_id) not in held:
                    again = RecordChange(object=claim.object, record_id=claim.record_id, version=claim.version)
                    await record_change(connection, again, at=self._clock())

    async def retry(self, claims: Sequence[Claim], *, code: str, delay_seconds: float) -> None:
        """Try these again after a while."""
        later = {"due_at": self._clock() + delay_seconds, "attempts": _o.attempts + 1, "code": code}
        await self._release(claims, later)

    async def bury(self, claims: Sequence[Claim], *, code: str) -> None:
        """Do not try these again until somebody says so. A newer change of the record tries anew by itself."""
        await self._release(claims, {"dead": True, "attempts": _o.attempts + 1, "code": code})

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give these back untried."""
        await self._release(claims, {})

    async def replay(self, object_name: str | None = None) -> int:
        """Try dead letters again, all or those of one object; returns how many."""
        chosen = sa.update(outbox).where(_o.dead.is_(True))
        if object_name is not None:
            chosen = chosen.where(_o.object == object_name)
        async with self._writing.begin() as connection:
            return (await connection.execute(chosen.values(dead=False, attempts=0, due_at=0, code=""))).rowcount

    async def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """The oldest dead letters."""
        wanted = sa.select(_o.object, _o.record_id, _o.attempts, _o.code, _o.created_at).where(_o.dead.is_(True))
        async with self._engine.connect() as connection:
            found = await connection.execute(wanted.order_by(_o.sequence).limit(limit))
            return [DeadLetter(**row._mapping) for row in found]

    async def status(self) -> OutboxStatus:
        counted = sa.select(_o.dead, sa.func.count(), sa.func.min(_o.created_at)).group_by(_o.dead)
        async with self._engine.connect() as connection:
            found = {bool(dead): (count, oldest) for dead, count, oldest in await connection.execute(counted)}
        pending, oldest = found.get(False, (0, None))
        lag = 0.0 if oldest is None else max(0.0, self._clock() - oldest)
        return OutboxStatus(pending=pending, dead=found.get(True, (0, None))[0], lag_seconds=lag)

    async def _due(self, connection: AsyncConnection, now: float, limit: int) -> list[tuple[str, str]]:
        other = outbox.alias()
        in_work = sa.exists().where(
            other.c.object == _o.object, other.c.record_id == _o.record_id, other.c.leased_until > now
        )
        due = sa.select(_o.object, _o.record_id).where(_o.dead.is_(False), _o.due_at <= now, ~in_work)
        # Some records have several changes; looking a little further fills the batch all the same.
        rows = await connection.execute(due.order_by(_o.due_at, _o.sequence).limit(limit * 2))
        return list(dict.fromkeys((row[0], row[1]) for row in rows))[:limit]

    async def _release(self, claims: Sequence[Claim], values: dict[str, object]) -> None:
        if not claims:
            return
        records = [(claim.object, claim.record_id) for claim in claims]
        mine = sa.update(outbox).where(_of_records(records), _o.lease == claims[0].lease)
        async with self._writing.begin() as connection:
            await connection.execute(mine.values(lease="", leased_until=0, **values))


def _line(change: RecordChange, at: float) -> dict[str, object]:
    return {
        "object": change.object,
        "record_id": change.record_id,
        "version": change.version,
        "created_at": at,
        "trace_id": change.trace_id,
    }


async def _take_turns(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":
        await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CLAIM_LOCK)))


def _of_records(records: Sequence[tuple[str, str]]) -> sa.ColumnElement[bool]:
    return sa.tuple_(_o.object, _o.record_id).in_(records)


async def _claims(connection: AsyncConnection, lease: str) -> list[Claim]:
    most = sa.func.max
    wanted = (
        sa.select(
            _o.object,
            _o.record_id,
            most(_o.sequence).label("sequence"),
            most(_o.version).label("version"),
            most(_o.attempts).label("attempts"),
            sa.func.min(_o.created_at).label("created_at"),
            most(_o.trace_id).label("trace_id"),
        )
        .where(_o.lease == lease)
        .group_by(_o.object, _o.record_id)
        .order_by(most(_o.sequence))
    )
    return [Claim(lease=lease, **row._mapping) for row in await connection.execute(wanted)]


__all__ = ["Claim", "DeadLetter", "Outbox", "OutboxStatus", "record_change"]
