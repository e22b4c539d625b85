"""Rows are purged only when their documents are gone."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from knowledge_service import AdapterContext, IndexFailed
from knowledge_service.events import ReapGuarded
from knowledge_service.indexes.memory import MemoryIndex
from knowledge_service.reap_guard import ReapGuard, all_of
from tests.knowledge_service.desk import Desk


class StubbornIndex(MemoryIndex):
    """Does not let go of some documents."""

    def __init__(self, *stubborn: str) -> None:
        super().__init__()
        self.stubborn = set(stubborn)
        self.calls: list[int] = []

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        self.calls.append(len(document_ids))
        if self.stubborn & set(document_ids):
            raise IndexFailed("index", "does not let go")
        await super().delete(document_ids, context)


async def filled(desk: Desk, index: MemoryIndex, count: int = 8) -> list[dict[str, Any]]:
    desk.index = index
    desk.service.register_adapter("index", index)
    for record in range(count):
        await desk.put(record, "alpha")
    await desk.worker.drain()
    return [{"id": record, "body": "alpha"} for record in range(count)]


async def test_rows_are_confirmed_when_their_documents_are_gone(desk: Desk) -> None:
    """The ids come back as they stood in the rows, and the index is already empty of them."""
    rows = await filled(desk, StubbornIndex())
    assert await ReapGuard(desk.service)("article", rows[:5]) == [0, 1, 2, 3, 4]
    assert await desk.indexed() == ["articles:5", "articles:6", "articles:7"]


async def test_one_document_that_stays_keeps_one_row(desk: Desk) -> None:
    """A failing batch is halved, so only the stubborn row is kept, and tried again next time."""
    index = StubbornIndex("articles:3")
    rows = await filled(desk, index)
    guard = ReapGuard(desk.service)
    index.calls.clear()
    assert await guard("article", rows) == [0, 1, 2, 4, 5, 6, 7]
    assert index.calls == [8, 4, 2, 2, 1, 1, 4]
    assert await desk.indexed() == ["articles:3"]
    told = [event for event in desk.events if isinstance(event, ReapGuarded)][-1]
    assert (told.confirmed, told.kept) == (7, 1)
    index.stubborn.clear()
    assert await guard("article", rows[3:4]) == [3]


async def test_an_index_that_is_not_there_keeps_every_row(desk: Desk) -> None:
    """Nobody can say that its documents are gone."""
    rows = await filled(desk, StubbornIndex())
    desk.service.unregister_adapter("index")
    assert await ReapGuard(desk.service)("article", rows) == []


async def test_a_purge_after_the_guard_leaves_nothing_behind(desk: Desk) -> None:
    """Guard, purge, sync: neither rows nor documents nor waiting changes remain."""
    rows = await filled(desk, StubbornIndex())
    confirmed = await ReapGuard(desk.service)("article", rows)
    await desk.write(sa.delete(desk.table).where(desk.table.c.id.in_(confirmed)))
    await desk.worker.drain()
    assert await desk.indexed() == []
    assert (await desk.outbox.status()).pending == 0


async def test_both_opt_outs_hold_up_nobodys_retention(desk: Desk) -> None:
    """An index that an outside indexer owns is left alone, by source or altogether."""
    index = StubbornIndex()
    rows = await filled(desk, index)
    index.calls.clear()
    assert await ReapGuard(desk.service, enabled=False)("article", rows) == list(range(8))
    declared = desk.source.model_dump(by_alias=True) | {"version": 2, "refresh": {"onRecordChange": False}}
    desk.service.register_source(type(desk.source).model_validate(declared))
    assert await ReapGuard(desk.service)("article", rows) == list(range(8))
    assert index.calls == []


async def test_a_row_without_an_id_and_an_object_without_sources(desk: Desk) -> None:
    """The one is never confirmed, the other always."""
    guard = ReapGuard(desk.service)
    assert await guard("article", [{"body": "x"}, {"id": None}]) == []
    assert await guard("unprojected", [{"id": "a"}, {"id": 2}]) == ["a", 2]


class Only:
    """Confirms the ids it is given, and remembers what it was asked about."""

    def __init__(self, *ids: int) -> None:
        self.ids = ids
        self.asked: list[list[int]] = []

    async def __call__(self, object_name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        self.asked.append([row["id"] for row in rows])
        return [row["id"] for row in rows if row["id"] in self.ids]


async def broken(object_name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    raise RuntimeError("the guard broke")


@pytest.mark.parametrize("reverse", [False, True])
async def test_guards_compose_by_intersection_in_any_order(reverse: bool) -> None:
    """A row goes when all say so; none can overrule another's veto."""
    guards = [Only(1, 2, 3), Only(2, 3, 4)]
    guard = all_of(guards[::-1] if reverse else guards)
    assert await guard("article", [{"id": number} for number in range(6)]) == [2, 3]


async def test_a_later_guard_is_not_asked_about_a_vetoed_row() -> None:
    """Its cleanup must not run for a row that stays."""
    first, second = Only(1), Only(1, 2)
    await all_of([first, second, first])("article", [{"id": 1}, {"id": 2}])
    assert second.asked == [[1]]
    assert first.asked == [[1, 2]]


async def test_a_guard_that_breaks_lets_nothing_be_purged() -> None:
    """Not even what an earlier guard confirmed."""
    assert await all_of([Only(1), broken])("article", [{"id": 1}]) == []
    assert await all_of([])("article", [{"id": 1}]) == [1]
