"""Many sources, one search that never shows what the caller may not read.

`KnowledgeService` is itself a `KnowledgeRetrievalProvider`. Its databases and indexes are imported where they are used:
``knowledge_service.sql_engine``, ``knowledge_service.sync``, ``knowledge_service.indexes.memory`` and so on.
"""

from .adapter import (
    AdapterContext,
    AdapterHealth,
    AdapterSearch,
    EnumeratingAdapter,
    KnowledgeAdapter,
    adapter_from_plugin,
)
from .caller import ANONYMOUS, EVERYONE, SYSTEM, ExecutionContext
from .data_engine import DataEngine, MemoryDataEngine, Record, RecordQuery
from .documents import IndexHit, KnowledgeDocument, KnowledgeHit
from .errors import (
    AuditBroken,
    DataEngineFailed,
    DataEngineUnsafe,
    DocumentRefused,
    IndexFailed,
    InvalidSource,
    InvalidWhere,
    KnowledgeServiceError,
    RecordBehind,
    SourceNotReadable,
    SourceVersionConflict,
    UnknownAdapter,
    UnknownSource,
)
from .events import ServiceEvent, SourceOutcome
from .ledger import Ledger, MemoryLedger
from .reindex import ReindexProgress
from .row_policy import RowPolicy
from .search import KnowledgeSearch
from .service import KnowledgeService
from .source_search import SearchLimits
from .sources import FileContent, HttpContent, KnowledgeSource, ObjectContent, Refresh, source_from, sources_from

__all__ = [
    "ANONYMOUS",
    "EVERYONE",
    "SYSTEM",
    "AdapterContext",
    "AdapterHealth",
    "AdapterSearch",
    "AuditBroken",
    "DataEngine",
    "DataEngineFailed",
    "DataEngineUnsafe",
    "DocumentRefused",
    "EnumeratingAdapter",
    "ExecutionContext",
    "FileContent",
    "HttpContent",
    "IndexFailed",
    "IndexHit",
    "InvalidSource",
    "InvalidWhere",
    "KnowledgeAdapter",
    "KnowledgeDocument",
    "KnowledgeHit",
    "KnowledgeSearch",
    "KnowledgeService",
    "KnowledgeServiceError",
    "KnowledgeSource",
    "Ledger",
    "MemoryDataEngine",
    "MemoryLedger",
    "ObjectContent",
    "Record",
    "RecordBehind",
    "RecordQuery",
    "Refresh",
    "ReindexProgress",
    "RowPolicy",
    "SearchLimits",
    "ServiceEvent",
    "SourceNotReadable",
    "SourceOutcome",
    "SourceVersionConflict",
    "UnknownAdapter",
    "UnknownSource",
    "adapter_from_plugin",
    "source_from",
    "sources_from",
]
