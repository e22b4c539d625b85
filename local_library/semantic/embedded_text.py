"""What is embedded of a passage."""

from ..records import Passage


def embedded_text(passage: Passage) -> str:
    """Title, headings and text. To change it means another layout of the vectors: old ones would be of other texts."""
    return "\n".join((passage.title, *passage.chunk.heading_path, passage.chunk.text))


__all__ = ["embedded_text"]
