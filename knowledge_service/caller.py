"""On whose behalf a search or a lookup runs. Nobody is never the system."""

from dataclasses import dataclass

EVERYONE = "*"
"""The grant that every identified caller holds. An anonymous caller holds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """A caller as the system of record knows them. The host builds it; no argument of a model ever does."""

    user_id: str = ""
    tenant_id: str = ""
    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    trace_id: str = ""

    @property
    def is_system(self) -> bool:
        # By identity: a user who is called "system", or a copy of SYSTEM, is not the system.
        return self is SYSTEM

    @property
    def is_anonymous(self) -> bool:
        return not self.is_system and not self.user_id.strip()

    def grants(self) -> frozenset[str]:
        """What this caller holds, as documents name it: ``*``, ``user:ID``, ``role:NAME`` and plain permissions."""
        if self.is_anonymous:
            return frozenset()
        own = {EVERYONE, f"user:{self.user_id}"} | {f"role:{role}" for role in self.roles}
        return frozenset(own | self.permissions)


SYSTEM = ExecutionContext(user_id="system")
"""The service itself, when it indexes. Reads every row; is never the caller of a question."""

ANONYMOUS = ExecutionContext()
"""Nobody. Reads nothing."""


__all__ = ["ANONYMOUS", "EVERYONE", "SYSTEM", "ExecutionContext"]
