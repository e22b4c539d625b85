"""What HTTP tells of documents, refused files and uploads. Where a file lies on this machine is told to nobody."""

from pathlib import Path
from typing import Any

_PAGE_KINDS = {"application/pdf": "page", "presentation": "slide", "sheet": "sheet", "application/epub": "chapter"}


def document_summary(document: Any, status: Any, *, uploaded: bool) -> dict[str, Any]:
    """One row of the list. ``pages`` is 0 for a kind without pages; ``pageKind`` says what is counted."""
    return {
        "id": document.document_id,
        "title": document.title,
        "summary": document.derived_summary or document.summary,
        "name": Path(document.path).name,
        "mimeType": document.media_type,
        "bytes": document.size,
        "pages": document.pages,
        "pageKind": _page_kind(document.media_type) if document.pages else "",
        "passages": document.passages,
        "version": document.version,
        "importedAt": document.imported_at,
        "status": str(status.status),
        "statusSentence": status.sentence,
        "warnings": list(document.warnings),
        "uploaded": uploaded,
    }


def headings_of(document: Any) -> list[dict[str, Any]]:
    """The headings, each with its place in the document."""
    return [
        {"text": one.text, "level": one.level, "locator": one.locator.removeprefix(document.path)}
        for one in document.headings
    ]


def quarantined_summary(file: Any) -> dict[str, Any]:
    """A file that could not be imported. The reason begins with its name, which stands beside it already."""
    name = Path(file.path).name
    return {
        "id": file.document_id,
        "name": name,
        "status": "quarantined",
        "code": file.reason_code,
        "reason": file.reason.removeprefix(f"{name}: "),
        "at": file.at,
    }


def _page_kind(media_type: str) -> str:
    return next((kind for part, kind in _PAGE_KINDS.items() if part in media_type), "page")


__all__ = ["document_summary", "headings_of", "quarantined_summary"]
