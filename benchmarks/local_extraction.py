"""Extraction of real files: share read, seconds, memory of the readers, words and headings held against another reader.

Run with ``python benchmarks/local_extraction.py [FOLDER ...] [--each N] [--kinds pdf,word]``. Without folders it takes
what Debian installs in /usr/share/doc; ``benchmarks/corpora.py`` gathers a folder with every kind. Each file is read as
an import reads it, in a limited child process, and by the peer of its kind in the same run. ``--list`` names every file
that was refused, or whose words or headings are not all there.
"""

import argparse
import multiprocessing
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.extraction_peers import PEERS, PeerFailed, PeerText, words_of
from benchmarks.measure import spread
from local_library import DocumentRejected
from local_library.extraction.kinds import is_readable, named_kind
from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind

DEBIAN = (Path("/usr/share/doc"),)
LARGEST_BYTES = 30_000_000


@dataclass(slots=True)
class Tally:
    """What the files of one kind gave."""

    milliseconds: list[float] = field(default_factory=list)
    peer_milliseconds: list[float] = field(default_factory=list)
    read: int = 0
    peer_read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refused_with_words: int = 0
    with_outline: int = 0
    own_headings: int = 0
    found_headings: int = 0
    recalls: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    remarks: list[str] = field(default_factory=list)


def sampled(folders: Sequence[Path], each: int) -> dict[str, list[Path]]:
    """At most ``each`` readable files of each kind, the same on every run over the same folders."""
    by_kind: dict[str, set[Path]] = {}
    for path in (path for folder in folders for path in _below(folder)):
        kind = named_kind(path.name)
        by_kind.setdefault(kind.name if kind else "?", set()).add(path)
    picked = random.Random(11)
    return {kind: picked.sample(sorted(paths), min(each, len(paths))) for kind, paths in sorted(by_kind.items())}


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if is_readable(path) and path.is_file() and 0 < path.stat().st_size <= LARGEST_BYTES:
            yield path


def measured(kind: str, paths: Sequence[Path]) -> Tally:
    """Read the files of one kind; runs in a process of its own, so that its children's memory is this kind's."""
    tally = Tally()
    reader = LimitedExtractor()
    outcomes = [_read(tally, reader, path) for path in paths]
    reader.close()
    tally.megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_024
    for path, outcome in zip(paths, outcomes, strict=True):
        _compare(tally, kind, path, outcome)
    return tally


def _read(tally: Tally, reader: LimitedExtractor, path: Path) -> ExtractedText | DocumentRejected:
    content = path.read_bytes()
    outcome: ExtractedText | DocumentRejected
    started = time.perf_counter()
    try:
        outcome, _ = reader.extract(str(path), content, "hash")
        tally.read += 1
    except DocumentRejected as error:
        outcome = error
        tally.refused[error.reason_code] += 1
    tally.milliseconds.append((time.perf_counter() - started) * 1_000)
    return outcome


def _compare(tally: Tally, kind: str, path: Path, outcome: ExtractedText | DocumentRejected) -> None:
    started = time.perf_counter()
    try:
        peer = PEERS[kind][1](path) if kind in PEERS else None
    except PeerFailed:
        peer = None
    else:
        tally.peer_milliseconds.append((time.perf_counter() - started) * 1_000)
    tally.peer_read += peer is not None
    if isinstance(outcome, DocumentRejected):
        known = f"the peer finds {peer.words.total()} words" if peer is not None else "the peer cannot read it"
        tally.remarks.append(f"{outcome.reason_code}: {path}: {outcome.reason}; {known}")
        tally.refused_with_words += peer is not None and peer.words.total() > 0
        return
    found = [one.text for one in outcome.segments if one.kind is SegmentKind.HEADING]
    tally.with_outline += bool(found)
    if peer is not None:
        _count(tally, path, peer, outcome, {_folded(one) for one in found})


def _count(tally: Tally, path: Path, peer: PeerText, extracted: ExtractedText, found: set[str]) -> None:
    missing = [one for one in peer.headings if _folded(one) not in found]
    tally.own_headings += len(peer.headings)
    tally.found_headings += len(peer.headings) - len(missing)
    if missing:
        tally.remarks.append(f"headings: {path}: {len(missing)} of {len(peer.headings)}, such as {missing[0][:60]!r}")
    if total := peer.words.total():
        ours = words_of(" ".join((extracted.title, *(one.text for one in extracted.segments))))
        recall = (peer.words & ours).total() / total
        tally.recalls.append(recall)
        if recall < 0.95:
            lost = ", ".join(word for word, _ in (peer.words - ours).most_common(6))
            tally.remarks.append(f"words: {path}: {recall:.2f}, without {lost}")


def _folded(heading: str) -> str:
    return "".join(words_of(heading).elements())


def line(kind: str, tally: Tally) -> str:
    """One line of the table."""
    times = spread(tally.milliseconds)
    refused = ", ".join(f"{count} {code}" for code, count in sorted(tally.refused.items())) or "none"
    if refused != "none" and kind in PEERS:
        refused += f"; of these the peer finds words in {tally.refused_with_words}"
    headings = f"{tally.found_headings:,} of {tally.own_headings:,}" if tally.own_headings else ""
    recall = ratio = peer = ""
    if tally.peer_read:
        ratio = f"{times.p50 / spread(tally.peer_milliseconds).p50:.2f}"
        peer = f"{PEERS[kind][0]}: {tally.peer_read}"
    if tally.recalls:
        recall = f"{spread(tally.recalls).p50:.3f} / {sum(tally.recalls) / len(tally.recalls):.3f}"
    cells = (
        kind,
        f"{tally.read} of {len(tally.milliseconds)}",
        refused,
        peer,
        f"{times.p50:.1f} / {times.p95:.1f} / {times.p99:.1f}",
        ratio,
        f"{tally.megabytes:.0f}",
        tally.with_outline,
        headings,
        recall,
    )
    return f"| {' | '.join(map(str, cells))} |"


def main(folders: Sequence[Path], each: int, kinds: Sequence[str], *, remarks: bool) -> None:
    """Print one line for each kind of file."""
    print(
        "| kind | read | refused as | peer, files it reads | ms p50 / p95 / p99 | p50 to peer | MB | with headings |"
        " peer's headings found | peer's words found, median / mean |"
    )
    print("|---|---:|---|---|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for kind, paths in sampled(folders, each).items():
            if kinds and kind not in kinds:
                continue
            tally = pool.submit(measured, kind, paths).result()
            print(line(kind, tally), flush=True)
            if remarks:
                print("\n".join(tally.remarks), flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="*", type=Path, default=list(DEBIAN))
    arguments.add_argument("--each", type=int, default=120, help="files of each kind")
    arguments.add_argument("--kinds", default="", help="only these, with commas")
    arguments.add_argument("--list", action="store_true", help="name the files that were not read in full")
    chosen = arguments.parse_args()
    main(chosen.folders, chosen.each, [one for one in chosen.kinds.split(",") if one], remarks=chosen.list)
