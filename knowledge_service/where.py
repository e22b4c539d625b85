"""Conditions on rows and on metadata, as plain data: ``{"status": "published", "age": {"$lt": 30}}``.

Keys of one mapping are joined by "and"; ``$and`` and ``$or`` take lists, ``$not`` takes one condition. A field is
compared with a value, or with operators: ``$eq $ne $in $nin $gt $gte $lt $lte $exists``. An absent field is `None`.
Values of different types are never equal and never ordered, truth values have no order (``1`` is not ``"1"`` and
`True` is not ``1``).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import InvalidWhere

Where = Mapping[str, Any]
Row = Mapping[str, Any]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda found, wanted: found > wanted,
    "$gte": lambda found, wanted: found >= wanted,
    "$lt": lambda found, wanted: found < wanted,
    "$lte": lambda found, wanted: found <= wanted,
}
OPERATORS = frozenset({"$eq", "$ne", "$in", "$nin", "$exists", *_ORDER})


def check_where(where: object) -> None:
    """Raise `InvalidWhere` where ``where`` is not a condition. Done once, when a source is registered."""
    if not isinstance(where, Mapping):
        raise InvalidWhere(f"A condition is a mapping of fields to values, not {type(where).__name__}.")
    for key, wanted in where.items():
        _check_entry(key, wanted)


def _check_entry(key: object, wanted: object) -> None:
    if key in ("$and", "$or"):
        if not isinstance(wanted, Sequence) or isinstance(wanted, str):
            raise InvalidWhere(f"{key!r} takes a list of conditions.")
        for part in wanted:
            check_where(part)
    elif key == "$not":
        check_where(wanted)
    elif not isinstance(key, str) or key.startswith("$"):
        raise InvalidWhere(f"Unknown operator {key!r}; fields do not start with '$'.")
    else:
        for name, value in operations(wanted):
            _check_operation(key, name, value)


def _check_operation(field: str, name: str, value: object) -> None:
    if name not in OPERATORS:
        raise InvalidWhere(f"Field {field!r}: unknown operator {name!r}. Known: {', '.join(sorted(OPERATORS))}.")
    if name in ("$in", "$nin") and (not isinstance(value, Sequence) or isinstance(value, str)):
        raise InvalidWhere(f"Field {field!r}: {name!r} takes a list.")
    if name == "$exists" and not isinstance(value, bool):
        raise InvalidWhere(f"Field {field!r}: '$exists' takes true or false.")


def operations(wanted: object) -> list[tuple[str, Any]]:
    """``5`` as ``[("$eq", 5)]`` and ``{"$gt": 5, "$lt": 9}`` as its two operations."""
    return list(wanted.items()) if isinstance(wanted, Mapping) else [("$eq", wanted)]


def matches(where: Where, row: Row) -> bool:
    """Whether ``row`` meets ``where``; the reference that the SQL form must agree with."""
    return all(_entry_matches(key, wanted, row) for key, wanted in where.items())


def _entry_matches(key: str, wanted: Any, row: Row) -> bool:
    if key == "$and":
        return all(matches(part, row) for part in wanted)
    if key == "$or":
        return any(matches(part, row) for part in wanted)
    if key == "$not":
        return not matches(wanted, row)
    return all(_holds(name, row.get(key), value) for name, value in operations(wanted))


def _holds(name: str, found: Any, wanted: Any) -> bool:
    if name == "$exists":
        return (found is not None) is wanted
    if name in ("$in", "$nin"):
        return any(equal(found, one) for one in wanted) is (name == "$in")
    if name in ("$eq", "$ne"):
        return equal(found, wanted) is (name == "$eq")
    return not isinstance(wanted, bool) and comparable(found, wanted) and _ORDER[name](found, wanted)


def equal(found: Any, wanted: Any) -> bool:
    return (found is None and wanted is None) or (comparable(found, wanted) and bool(found == wanted))


def comparable(found: Any, wanted: Any) -> bool:
    """Numbers with numbers, truth values with truth values, anything else with its own type; `None` with nothing."""
    if found is None or wanted is None:
        return False
    if isinstance(found, bool) or isinstance(wanted, bool):
        return isinstance(found, bool) and isinstance(wanted, bool)
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return True
    return type(found) is type(wanted)


def fields_of(where: Where) -> set[str]:
    """The names of the fields that a condition looks at."""
    names: set[str] = set()
    for key, wanted in where.items():
        if key == "$not":
            names |= fields_of(wanted)
        elif key in ("$and", "$or"):
            names |= {name for part in wanted for name in fields_of(part)}
        else:
            names.add(key)
    return names


__all__ = ["OPERATORS", "Row", "Where", "check_where", "comparable", "equal", "fields_of", "matches", "operations"]
