"""Extraction of real files: share read, seconds, memory of the readers, headings found against the file's own outline.

Run with ``python benchmarks/local_extraction.py [FOLDER ...] [--files N]``; without folders it takes the documentation
that Debian installs below /usr/share. Each file is read as an import reads it: in a limited child process.
"""

import argparse
import random
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
from selectolax.lexbor import LexborHTMLParser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import spread
from local_library import DocumentRejected
from local_library.extraction.kinds import is_readable, named_kind
from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind

DEBIAN = (Path("/usr/share/doc"), Path("/usr/share"))
LARGEST_BYTES = 30_000_000


@dataclass(slots=True)
class Tally:
    """What the files of one kind gave."""

    milliseconds: list[float] = field(default_factory=list)
    read: int = 0
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    own_headings: int = 0
    found_headings: int = 0


def files(folders: Sequence[Path], most: int) -> list[Path]:
    """A sample of at most ``most`` readable files, the same on every run over the same folders."""
    found = sorted({path for folder in folders for path in _below(folder)})
    return random.Random(11).sample(found, min(most, len(found)))


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if is_readable(path) and path.is_file() and 0 < path.stat().st_size <= LARGEST_BYTES:
            yield path


def measured(paths: Sequence[Path]) -> dict[str, Tally]:
    reader = LimitedExtractor()
    tallies: dict[str, Tally] = defaultdict(Tally)
    for path in paths:
        kind = named_kind(path.name)
        tally = tallies[kind.name if kind else "?"]
        content = path.read_bytes()
        started = time.perf_counter()
        try:
            extracted, _ = reader.extract(str(path), content, "hash")
        except DocumentRejected as error:
            tally.refused[error.reason_code] += 1
        else:
            tally.read += 1
            _count_headings(tally, kind.name if kind else "", content, extracted)
        tally.milliseconds.append((time.perf_counter() - started) * 1_000)
    reader.close()
    return tallies


def _count_headings(tally: Tally, kind: str, content: bytes, extracted: ExtractedText) -> None:
    """Compare with the outline that the file itself declares, where another library can tell it."""
    if kind not in _OUTLINES:
        return
    own = [" ".join(title.split()) for title in _OUTLINES[kind](content)]
    found = {one.text for one in extracted.segments if one.kind is SegmentKind.HEADING}
    tally.own_headings += len(own)
    tally.found_headings += sum(title in found for title in own)


def _html_outline(content: bytes) -> list[str]:
    tree = LexborHTMLParser(content)
    return [title for node in tree.css("h1,h2,h3,h4,h5,h6") if (title := node.text()).strip()]


def _pdf_outline(content: bytes) -> list[str]:
    document = pypdfium2.PdfDocument(content)
    return [title for bookmark in document.get_toc() if (title := bookmark.get_title()).strip()]


_OUTLINES: dict[str, Callable[[bytes], list[str]]] = {"html": _html_outline, "pdf": _pdf_outline}


def main(folders: Sequence[Path], most: int) -> None:
    """Print one line for each kind of file."""
    paths = files(folders, most)
    tallies = measured(paths)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_024
    print(f"{len(paths)} files of {', '.join(map(str, folders))}; the largest reader took {memory:.0f} MB.\n")
    print("| kind | files | read | refused as | ms p50 | p95 | p99 | own headings | found |")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for name, tally in sorted(tallies.items()):
        times = spread(tally.milliseconds)
        refused = ", ".join(f"{count} {code}" for code, count in sorted(tally.refused.items())) or "none"
        share = f"{tally.found_headings / tally.own_headings:.0%}" if tally.own_headings else ""
        print(
            f"| {name} | {len(tally.milliseconds)} | {tally.read} | {refused} | {times.p50:.1f} | {times.p95:.1f} | "
            f"{times.p99:.1f} | {tally.own_headings or ''} | {share} |"
        )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="*", type=Path, default=list(DEBIAN))
    arguments.add_argument("--files", type=int, default=400)
    chosen = arguments.parse_args()
    main(chosen.folders, chosen.files)
