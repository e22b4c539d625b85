"""Which rows of an object a caller may read, as data that a database can apply.

    RowPolicy.of({"roles": ["support"]}, {"where": {"status": "published"}}, {"where": {"author": "$user"}})

reads: support sees every row; everyone else the published ones and their own. An object without a policy is read by
nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .caller import ExecutionContext
from .errors import InvalidWhere
from .where import Where, check_where


class ReadPolicy(Protocol):
    """Turns a caller into the condition on the rows they may read; `None` means none of them."""

    def condition(self, caller: ExecutionContext) -> Where | None: ...


@dataclass(frozen=True, slots=True)
class RowGrant:
    """Rows that meet ``where``, for callers with one of ``roles`` (empty: for every identified caller)."""

    where: Mapping[str, Any] = field(default_factory=dict)
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RowPolicy:
    """A row is readable when any grant says so. The system reads all, nobody reads nothing."""

    grants: tuple[RowGrant, ...] = ()

    @classmethod
    def of(cls, *grants: Mapping[str, Any]) -> "RowPolicy":
        return cls(tuple(_grant(grant) for grant in grants))

    def condition(self, caller: ExecutionContext) -> Where | None:
        if caller.is_system:
            return {}
        if caller.is_anonymous:
            return None
        held = [grant for grant in self.grants if not grant.roles or grant.roles & caller.roles]
        if not caller.tenant_id:
            # Rows without a tenant must not open up to callers without one.
            held = [grant for grant in held if not _mentions(grant.where, "$tenant")]
        return {"$or": [_bound(grant.where, caller) for grant in held]} if held else None


def _grant(grant: Mapping[str, Any]) -> RowGrant:
    unknown = set(grant) - {"where", "roles"}
    if unknown:
        raise InvalidWhere(f"A grant has no key {sorted(unknown)[0]!r}. Known: 'roles', 'where'.")
    where, roles = grant.get("where", {}), grant.get("roles", ())
    check_where(where)
    if isinstance(roles, str) or not isinstance(roles, Sequence) or ("roles" in grant and not roles):
        raise InvalidWhere("'roles' is a list of role names; leave it out to mean every identified caller.")
    return RowGrant(where, frozenset(roles))


def _bound(value: Any, caller: ExecutionContext) -> Any:
    """``value`` with ``$user`` and ``$tenant`` replaced by who asks."""
    if isinstance(value, Mapping):
        return {key: _bound(part, caller) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_bound(part, caller) for part in value]
    return {"$user": caller.user_id, "$tenant": caller.tenant_id}.get(value, value) if isinstance(value, str) else value


def _mentions(value: Any, name: str) -> bool:
    if isinstance(value, Mapping):
        return any(_mentions(part, name) for part in value.values())
    if isinstance(value, list | tuple):
        return any(_mentions(part, name) for part in value)
    return bool(value == name)


__all__ = ["ReadPolicy", "RowGrant", "RowPolicy"]
