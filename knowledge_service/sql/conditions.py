"""A condition as SQL, meaning exactly what `knowledge_service.where.matches` means, nulls and types included."""

import datetime
import decimal
import operator
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from ..errors import InvalidWhere
from ..where import Where, operations

_Condition = ColumnElement[bool]
_ORDER = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def condition(where: Where, table: sa.Table) -> _Condition:
    """Raises `InvalidWhere` for a field that the table does not have."""
    return sa.and_(sa.true(), *(_entry(key, wanted, table) for key, wanted in where.items()))


def _entry(key: str, wanted: Any, table: sa.Table) -> _Condition:
    if key == "$and":
        return sa.and_(sa.true(), *(condition(part, table) for part in wanted))
    if key == "$or":
        return sa.or_(sa.false(), *(condition(part, table) for part in wanted))
    if key == "$not":
        return sa.not_(condition(wanted, table))
    if key not in table.c:
        raise InvalidWhere(f"Object {table.name!r} has no field {key!r}. Known: {', '.join(table.c.keys())}.")
    return sa.and_(*(_operation(table.c[key], name, value) for name, value in operations(wanted)))


def _operation(column: sa.Column[Any], name: str, wanted: Any) -> _Condition:
    if name == "$exists":
        return column.is_not(None) if wanted else column.is_(None)
    if name in ("$in", "$nin"):
        among = sa.or_(sa.false(), *(_equal(column, one) for one in wanted))
        return among if name == "$in" else sa.not_(among)
    if name in ("$eq", "$ne"):
        return _equal(column, wanted) if name == "$eq" else sa.not_(_equal(column, wanted))
    if isinstance(wanted, bool) or not comparable(column, wanted):
        return sa.false()
    # A comparison with null is neither true nor false to a database; here it is false.
    return sa.and_(column.is_not(None), _ORDER[name](column, wanted))


def _equal(column: sa.Column[Any], wanted: Any) -> _Condition:
    if wanted is None:
        return column.is_(None)
    return sa.and_(column.is_not(None), column == wanted) if comparable(column, wanted) else sa.false()


def comparable(column: sa.Column[Any], wanted: Any) -> bool:
    """Databases convert where types differ (``'1' = 1``); here different types are never equal."""
    held = column.type.python_type
    if isinstance(wanted, bool) or held is bool:
        return isinstance(wanted, bool) and held is bool
    if issubclass(held, int | float | decimal.Decimal):
        return isinstance(wanted, int | float | decimal.Decimal)
    if issubclass(held, datetime.datetime):
        return isinstance(wanted, datetime.datetime)
    return isinstance(wanted, held) and not isinstance(wanted, Mapping)


__all__ = ["comparable", "condition"]
