"""JSON as services really send it: NaN, endless nesting, the same key twice, numbers of a million digits."""

import json
from typing import Any

from knowledge_provider import InvalidRetrievalRequest, InvalidRetrievalResult


def parse_json(data: bytes | str, provider: str) -> Any:
    """Read JSON; NaN and infinities become None. Raises `InvalidRetrievalResult` for what has no single meaning."""
    try:
        return json.loads(data, parse_constant=lambda _: None, object_pairs_hook=_unambiguous)
    except RecursionError as error:
        raise InvalidRetrievalResult(provider, "JSON nested too deeply") from error
    except _KeyTwice as error:
        raise InvalidRetrievalResult(provider, "JSON that has the same key twice") from error
    except ValueError as error:
        raise InvalidRetrievalResult(provider, "a body that is not JSON") from error


def json_bytes(value: object, provider: str) -> bytes:
    """Write JSON as UTF-8; raises `InvalidRetrievalRequest` for a host's value that JSON cannot hold."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"The request for provider {provider!r} holds a value that JSON cannot express. Mend its filters."
        raise InvalidRetrievalRequest(problem) from error


class _KeyTwice(ValueError):
    pass


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _KeyTwice
    return members


__all__ = ["json_bytes", "parse_json"]
