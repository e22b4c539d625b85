"""The service's own tables. They stand beside the host's, so that a row and its change commit together."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

metadata = sa.MetaData()

# SQLite counts only INTEGER keys up by itself.
_COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

documents = sa.Table(
    "knowledge_documents",
    metadata,
    sa.Column("source_id", sa.String(64), primary_key=True),
    sa.Column("document_id", sa.String(200), primary_key=True),
    sa.Column("content_hash", sa.String(64), nullable=False),
    sa.Column("version", sa.BigInteger),
    sa.Column("body", sa.Text),
    sa.Column("run", sa.String(32), nullable=False, default=""),
)

checkpoints = sa.Table(
    "knowledge_checkpoints",
    metadata,
    sa.Column("source_id", sa.String(64), primary_key=True),
    sa.Column("run", sa.String(32), nullable=False),
    sa.Column("source_version", sa.Integer, nullable=False),
    sa.Column("after", sa.Text),
    sa.Column("counts", sa.Text, nullable=False),
)

outbox = sa.Table(
    "knowledge_outbox",
    metadata,
    sa.Column("sequence", _COUNTER, primary_key=True, autoincrement=True),
    sa.Column("object", sa.String(120), nullable=False),
    sa.Column("record_id", sa.String(160), nullable=False),
    sa.Column("version", sa.BigInteger),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("due_at", sa.Float, nullable=False, server_default="0"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("lease", sa.String(32), nullable=False, server_default=""),
    sa.Column("leased_until", sa.Float, nullable=False, server_default="0"),
    sa.Column("dead", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("code", sa.String(64), nullable=False, server_default=""),
    sa.Column("trace_id", sa.String(64), nullable=False, server_default=""),
    sa.Index("knowledge_outbox_due", "dead", "due_at", "sequence"),
    sa.Index("knowledge_outbox_record", "object", "record_id"),
)

declarations = sa.Table(
    "knowledge_sources",
    metadata,
    sa.Column("source_id", sa.String(64), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("declaration", sa.Text, nullable=False),
    sa.Column("removed", sa.Boolean, nullable=False, default=False),
)

TABLES: Sequence[sa.Table] = (documents, checkpoints, outbox, declarations)


async def create_tables(connection: AsyncConnection) -> None:
    """Create the service's tables where they are missing."""
    await connection.run_sync(lambda sync: metadata.create_all(sync, tables=TABLES))


__all__ = ["checkpoints", "create_tables", "declarations", "documents", "outbox"]
