"""Metadata conditions as RAGFlow and Dify write them: joined, and checked again against what came back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from knowledge_provider import UnsupportedFilters

Condition = Mapping[str, Any]


def joined_conditions(provider: str, filters: Sequence[Mapping[str, Any]], logic: str) -> dict[str, Any]:
    """Join condition lists by AND; ``logic`` is the name of the member that says "and" or "or".

    Raises `UnsupportedFilters` for what the service would not read as conditions: it would then return everything, or
    nothing, depending on its version. An "or" of several cannot be joined with others and is taken only alone.
    """
    conditions: list[Condition] = []
    for part in filters:
        own = part.get("conditions")
        word = part.get(logic, "and")
        if not isinstance(own, list) or not own or not all(_is_condition(each) for each in own):
            raise UnsupportedFilters(provider, "takes filters only as a list of conditions")
        if word not in ("and", "or") or (word == "or" and len(own) > 1 and len(filters) > 1):
            raise UnsupportedFilters(provider, "cannot join these conditions with those of the owner")
        conditions += own
    word = filters[0].get(logic, "and") if len(filters) == 1 else "and"
    return {logic: word, "conditions": conditions}


def _is_condition(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.get("name")) and isinstance(value.get("comparison_operator"), str)


def holds(condition: Mapping[str, Any], metadata: Mapping[str, Any], logic: str) -> bool:
    """Whether a document's metadata meet joined conditions; an operator that is not known never holds."""
    results = [_meets(each, metadata) for each in condition["conditions"]]
    return any(results) if condition[logic] == "or" else all(results)


def _meets(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    found = metadata.get(condition["name"])
    values = [_text(value) for value in (found if isinstance(found, list) else [found]) if value is not None]
    operator, wanted = condition["comparison_operator"].strip().lower(), condition.get("value")
    if operator in ("empty", "not empty"):
        return any(values) is (operator == "not empty")
    if operator in _NEGATED:
        return not any(_POSITIVE[_NEGATED[operator]](value, wanted) for value in values)
    test = _POSITIVE.get(operator)
    return test is not None and any(test(value, wanted) for value in values)


def _text(value: object) -> str:
    return str(value).strip().lower()


def _one_of(value: str, wanted: Any) -> bool:
    options = wanted if isinstance(wanted, list) else str(wanted).split(",")
    return value in [_text(option) for option in options]


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[str, Any], bool]:
    def test(value: str, wanted: Any) -> bool:
        try:
            return compare(float(value), float(wanted))
        except (TypeError, ValueError):
            return compare(value, _text(wanted))

    return test


_POSITIVE: Mapping[str, Callable[[str, Any], bool]] = {
    "is": lambda value, wanted: value == _text(wanted),
    "=": lambda value, wanted: value == _text(wanted),
    "contains": lambda value, wanted: _text(wanted) in value,
    "in": _one_of,
    "start with": lambda value, wanted: value.startswith(_text(wanted)),
    "end with": lambda value, wanted: value.endswith(_text(wanted)),
    ">": _ordered(lambda a, b: bool(a > b)),
    "<": _ordered(lambda a, b: bool(a < b)),
    "≥": _ordered(lambda a, b: bool(a >= b)),
    "≤": _ordered(lambda a, b: bool(a <= b)),
}
_NEGATED = {"not is": "is", "≠": "=", "not contains": "contains", "not in": "in"}


__all__ = ["holds", "joined_conditions"]
