"""Our documents in a RAGFlow dataset are told by their names: source, document id, and content hash.

Every version of RAGFlow returns the name with a passage; metadata it returns only lately, and late.
"""

import re
from dataclasses import dataclass

from ..documents import KnowledgeDocument

MAX_NAME_BYTES = 255
_PLAIN = re.compile(r"[A-Za-z0-9._-]")
_OURS = re.compile(r"(?P<source>[^~]+)~(?P<document>[^~]+)~(?P<hash>[0-9a-f]{12})(?:\(\d+\))?\.md")
_ESCAPE = re.compile(r"=([0-9A-F]{2})")


@dataclass(frozen=True, slots=True)
class OurName:
    source_id: str
    document_id: str
    content_hash: str


def prefix_of(source_id: str, document_id: str = "") -> str:
    """How the names of a source, or of one document in all its states, begin."""
    return f"{_quoted(source_id)}~" + (f"{_quoted(document_id)}~" if document_id else "")


def name_of(document: KnowledgeDocument) -> str:
    """The file name of a document in its present state; it may be too long, see `MAX_NAME_BYTES`."""
    return f"{prefix_of(document.source_id, document.id)}{document.content_hash()[:12]}.md"


def our_name(name: object) -> OurName | None:
    """What a name stands for; `None` for files that somebody else put there. RAGFlow adds ``(1)`` to a name it has."""
    found = _OURS.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        return None
    try:
        return OurName(_unquoted(found["source"]), _unquoted(found["document"]), found["hash"])
    except UnicodeDecodeError:
        return None


def _quoted(text: str) -> str:
    return "".join(sign if _PLAIN.match(sign) else "".join(f"={byte:02X}" for byte in sign.encode()) for sign in text)


def _unquoted(text: str) -> str:
    raw = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    return raw.encode("latin-1").decode()


__all__ = ["MAX_NAME_BYTES", "OurName", "name_of", "our_name", "prefix_of"]
