"""A record becomes a document: pure, and the same whether it is indexed or shown."""

from collections.abc import Mapping
from typing import Any

from .data_engine import Record
from .documents import KnowledgeDocument, MetadataScalar
from .sources import KnowledgeSource, ObjectContent


def fields_needed(content: ObjectContent) -> tuple[str, ...]:
    """Every field that `document_from` reads, once each."""
    extra = [name for name in (content.title_field, content.version_field) if name]
    return tuple(dict.fromkeys([*content.content_fields, *content.metadata_fields, *extra]))


def document_from(source: KnowledgeSource, content: ObjectContent, record: Record) -> KnowledgeDocument:
    """The document of ``record``. A record without text gives a document without content, which no search finds."""
    parts = [_text(record.values.get(name)) for name in content.content_fields]
    return KnowledgeDocument(
        id=source.document_id(record.id),
        source_id=source.id,
        source_record_id=record.id,
        title=_text(record.values.get(content.title_field)) if content.title_field else _first_line(parts),
        content="\n\n".join(part for part in parts if part),
        metadata={name: _scalar(record.values.get(name)) for name in content.metadata_fields},
        version=_version(record.values, content),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_text(part) for part in value)
    return str(value).strip()


def _first_line(parts: list[str]) -> str:
    first = next((part for part in parts if part), "")
    return first.splitlines()[0][:120] if first else ""


def _scalar(value: Any) -> MetadataScalar:
    return value if value is None or isinstance(value, str | bool | int | float) else _text(value)


def _version(values: Mapping[str, Any], content: ObjectContent) -> int | None:
    found = values.get(content.version_field) if content.version_field else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


__all__ = ["document_from", "fields_needed"]
