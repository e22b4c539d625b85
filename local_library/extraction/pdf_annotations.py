"""What was written onto the pages of a PDF: the values of its form fields and free text."""

import ctypes
from collections.abc import Iterator

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

_MOST_ANNOTATIONS = 5_000
_MOST_BYTES = 200_000
_KEYS = {pdfium.FPDF_ANNOT_WIDGET: b"V", pdfium.FPDF_ANNOT_FREETEXT: b"Contents"}


def written_on(page: pypdfium2.PdfPage) -> Iterator[str]:
    """The lines of each filled field and free text of a page, in the order that the file holds them."""
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            key = _KEYS.get(pdfium.FPDFAnnot_GetSubtype(annotation))
            if key is not None:
                yield from _value(annotation, key).splitlines()
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(annotation: object, key: bytes) -> str:
    size = min(pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0), _MOST_BYTES)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    text = buffer.raw.decode("utf-16-le", errors="replace").rstrip("\x00")
    return "" if text in ("Off", "Yes") else text.replace("\r", "\n")


__all__ = ["written_on"]
