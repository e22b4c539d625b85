"""Every error of the knowledge service, in one tree.

    KnowledgeError
    └─ KnowledgeServiceError
       ├─ InvalidSource            a source's declaration is wrong: raised while loading or registering it
       ├─ SourceVersionConflict    a changed declaration came with a version that is not newer
       ├─ UnknownSource            no source of that id is registered
       ├─ UnknownAdapter           no index adapter of that id is registered
       ├─ SourceNotReadable        nothing was given that can read this kind of source
       ├─ DataEngineFailed         the system of record did not answer              retryable
       │  └─ RecordBehind          it answered with a row older than the news of it
       ├─ DataEngineUnsafe         the system of record would show a caller rows that are not theirs
       ├─ InvalidWhere             a condition uses a field or an operator that does not exist
       ├─ IndexFailed              an index adapter failed                          retryable
       │  └─ DocumentRefused       an index will never take this document
       └─ AuditBroken              the audit log was changed after it was written

Messages name what the host configured. What a database or a vendor said stays in ``__cause__``.
"""

from typing import ClassVar

from knowledge_provider import KnowledgeError


class KnowledgeServiceError(KnowledgeError):
    """Base of the errors that managing and syncing sources raises."""

    code: ClassVar[str] = "knowledge_service_error"


class InvalidSource(KnowledgeServiceError):
    """Raised when a source's declaration is wrong; names the source, the key and the remedy."""

    code = "knowledge_source_invalid"

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"Source {source!r}: {problem}")
        self.source = source
        self.problem = problem


class SourceVersionConflict(KnowledgeServiceError):
    """Raised when a changed declaration carries a version that is not above the registered one."""

    code = "knowledge_source_version"

    def __init__(self, source: str, *, registered: int, offered: int) -> None:
        super().__init__(
            f"Source {source!r} is registered at version {registered} and the changed declaration says {offered}. "
            f"Raise its version to {registered + 1} or above."
        )
        self.registered = registered
        self.offered = offered


class _Unknown(KnowledgeServiceError):
    kind: ClassVar[str]

    def __init__(self, name: str, known: list[str]) -> None:
        listed = ", ".join(repr(one) for one in sorted(known)) or "none"
        super().__init__(f"No {self.kind} {name!r} is registered. Registered: {listed}.")
        self.name = name


class UnknownSource(_Unknown):
    """Raised when a call names a source that is not registered."""

    code = "knowledge_source_unknown"
    kind = "source"


class UnknownAdapter(_Unknown):
    """Raised when a source or a call names an index adapter that is not registered."""

    code = "knowledge_adapter_unknown"
    kind = "index adapter"


class SourceNotReadable(KnowledgeServiceError):
    """Raised when a source is to be indexed and nothing was given that can read it."""

    code = "knowledge_source_not_readable"

    def __init__(self, source: str, needs: str) -> None:
        super().__init__(f"Source {source!r} cannot be read: the service was given no {needs}.")


class DataEngineFailed(KnowledgeServiceError):
    """Raised when the system of record cannot be read."""

    code = "knowledge_data_engine"
    retryable = True

    def __init__(self, object_name: str, problem: str = "cannot be read") -> None:
        super().__init__(f"Object {object_name!r} {problem} in the system of record.")
        self.object_name = object_name


class RecordBehind(DataEngineFailed):
    """Raised when the system of record answers with a row that is older than the news of it."""

    code = "knowledge_record_behind"


class DataEngineUnsafe(KnowledgeServiceError):
    """Raised at start-up when the database would not hold callers apart; says which setting to mend."""

    code = "knowledge_data_engine_unsafe"


class InvalidWhere(KnowledgeServiceError):
    """Raised when a condition names a field or an operator that does not exist."""

    code = "knowledge_where_invalid"


class IndexFailed(KnowledgeServiceError):
    """Raised by an index adapter when its index cannot be reached or refuses for now."""

    code = "knowledge_index_failed"
    retryable = True

    def __init__(self, adapter: str, problem: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"Index {adapter!r} {problem}.")
        self.adapter = adapter
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds


class DocumentRefused(IndexFailed):
    """Raised by an index adapter when trying again cannot help: the document itself is refused."""

    code = "knowledge_document_refused"
    retryable = False


class AuditBroken(KnowledgeServiceError):
    """Raised when an audit log does not hold what was once written to it."""

    code = "knowledge_audit_broken"

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"The audit log is broken at line {line}: {problem}.")
        self.line = line
        self.problem = problem


def place_of(error: BaseException) -> str:
    """The kind of an error's first cause and the line it came from, for a log: never what a vendor said."""
    while error.__cause__ is not None:
        error = error.__cause__
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__qualname__}{where}"


__all__ = [
    "AuditBroken",
    "DataEngineFailed",
    "DataEngineUnsafe",
    "DocumentRefused",
    "IndexFailed",
    "InvalidSource",
    "InvalidWhere",
    "KnowledgeServiceError",
    "RecordBehind",
    "SourceNotReadable",
    "SourceVersionConflict",
    "UnknownAdapter",
    "UnknownSource",
    "place_of",
]
