"""RTF: its text, paragraph by paragraph."""

from striprtf.striprtf import rtf_to_text

from .outcome import Unreadable
from .plain import write_text
from .segments import SegmentWriter

EXTRACTOR_ID = "rtf-1"


def extract_rich_text(content: bytes, writer: SegmentWriter) -> None:
    """Write the paragraphs of an RTF file; pictures and layout are left out."""
    markup = content.decode("latin-1")
    try:
        text = str(rtf_to_text(markup, errors="replace"))  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, LookupError) as error:
        raise Unreadable("damaged", "is damaged or cut off", "Save it again from its program") from error
    if "\\pict" in markup:
        writer.warn("Pictures were left out.")
    write_text("\n\n".join(text.split("\n")), writer)


__all__ = ["EXTRACTOR_ID", "extract_rich_text"]
