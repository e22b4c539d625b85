"""A condition in SQL selects the very rows that the plain meaning of the condition selects, on both databases."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_service import InvalidWhere
from knowledge_service.sql.conditions import condition
from knowledge_service.where import matches

TABLE = sa.Table(
    "thing",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer),
    sa.Column("word", sa.String(20)),
    sa.Column("flag", sa.Boolean),
)
ROWS: list[dict[str, Any]] = [
    {"id": index, "number": number, "word": word, "flag": flag}
    for index, (number, word, flag) in enumerate(
        (number, word, flag)
        for number in (None, 0, 1, 2)
        for word in (None, "", "1", "a")
        for flag in (None, True, False)
    )
]

values = st.sampled_from((None, 0, 1, 2, 1.0, "", "1", "a", True, False))
operators = st.one_of(
    values,
    st.dictionaries(st.sampled_from(("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")), values, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(("$in", "$nin")), st.lists(values, max_size=3), min_size=1),
    st.dictionaries(st.just("$exists"), st.booleans(), min_size=1),
)
conditions = st.recursive(
    st.dictionaries(st.sampled_from(("number", "word", "flag")), operators, max_size=2),
    lambda part: st.one_of(
        st.fixed_dictionaries({"$or": st.lists(part, max_size=3)}),
        st.fixed_dictionaries({"$and": st.lists(part, max_size=3)}),
        st.fixed_dictionaries({"$not": part}),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    TABLE.metadata.create_all(engine)
    with engine.begin() as open_connection:
        open_connection.execute(sa.insert(TABLE), ROWS)
        yield open_connection
    engine.dispose()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=conditions)
def test_a_database_selects_what_the_condition_means(connection: sa.Connection, where: dict[str, Any]) -> None:
    """Nulls, truth values, numbers and texts: no conversion of a database widens a policy or a search."""
    found = {row.id for row in connection.execute(sa.select(TABLE.c.id).where(condition(where, TABLE)))}
    assert found == {row["id"] for row in ROWS if matches(where, row)}


async def test_postgresql_agrees(postgres_url: str) -> None:
    """The same conditions on PostgreSQL, in one go."""
    from knowledge_service.sql.database import open_database

    engine = open_database(postgres_url)
    async with engine.begin() as connection:
        await connection.run_sync(TABLE.metadata.create_all)
        await connection.execute(sa.insert(TABLE), ROWS)
        for where in EXAMPLES:
            found = {row.id for row in await connection.execute(sa.select(TABLE.c.id).where(condition(where, TABLE)))}
            assert found == {row["id"] for row in ROWS if matches(where, row)}, where
    await engine.dispose()


EXAMPLES: list[dict[str, Any]] = [
    {"word": 1},
    {"number": "1"},
    {"flag": 1},
    {"number": {"$ne": 1}},
    {"number": {"$nin": [1, None]}},
    {"$not": {"number": {"$gt": 0}}},
    {"$or": [{"word": "a"}, {"flag": True}]},
    {"$or": []},
    {"number": {"$gte": 1, "$lt": 2}, "word": {"$exists": True}},
    {"word": {"$gt": ""}},
]


def test_an_unknown_field_is_refused() -> None:
    """A condition on a column that is not there must not turn into a condition that always holds."""
    with pytest.raises(InvalidWhere, match="has no field 'colour'"):
        condition({"colour": "red"}, TABLE)
