"""A process that is killed at any moment leaves a library that opens, verifies and has each document whole."""

import random
import re
import sqlite3
from pathlib import Path

import pytest

from local_library import DomainLibrary
from tests.local_library.killed_children import nursery

WORKER = Path(__file__).with_name("crash_worker.py")
KILLS = 100
DOCUMENTS = 6
SHORTEST_RANGE_SECONDS, LONGEST_RANGE_SECONDS = 0.3, 5.0


def expected(log: Path) -> dict[int, int | None]:
    """Each document's acknowledged version (None: removed), without those whose last operation was cut off."""
    state: dict[int, int | None] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        step, kind, name, version = line.split()
        if kind not in ("import", "many", "remove"):
            continue
        for one in range(DOCUMENTS) if kind == "many" else (int(name),):
            if step == "begin":
                state.pop(one, None)
            else:
                state[one] = None if kind == "remove" else int(version)
    return state


def found_in(store: Path, trace: bytes) -> bool:
    return any(trace in path.read_bytes() for path in store.rglob("*") if path.is_file())


def make_older(store: Path) -> None:
    """Take the records back to an earlier version, so that opening them has more to do."""
    records = sqlite3.connect(store / "records.sqlite")
    records.executescript(
        "BEGIN; DROP TRIGGER count_language; DROP TRIGGER discount_language; DROP TABLE languages;"
        "ALTER TABLE extractions DROP COLUMN pages; PRAGMA user_version = 2; COMMIT;"
    )
    records.close()


def finished_imports(log: Path) -> int:
    return len(re.findall("done (import|many)", log.read_text())) if log.exists() else 0


@pytest.mark.slow
def test_a_killed_process_leaves_every_document_wholly_in_or_wholly_out(tmp_path: Path) -> None:
    """One hundred kills at random moments of all that writes lose nothing acknowledged, and keep nothing erased."""
    store = tmp_path / "store"
    choose = random.Random(20)  # noqa: S311 - the moments of the kills, the same in every run
    within, finished = SHORTEST_RANGE_SECONDS, 0
    with nursery(WORKER) as children:
        for kill in range(1, KILLS + 1):
            children.kill(store, kill, choose.uniform(0.0, within), opening=kill % 4 == 0)
            # A busy machine gets further apart kills, or none would hit anything but the start.
            before, finished = finished, finished_imports(tmp_path / "acknowledged")
            within = SHORTEST_RANGE_SECONDS if finished > before else min(LONGEST_RANGE_SECONDS, within * 1.3)
            check(store, expected(tmp_path / "acknowledged"), f"after kill {kill}")
            if kill % 4 == 3:
                make_older(store)
    steps = (tmp_path / "acknowledged").read_text()
    assert steps.count("done") >= 5
    assert all(f"begin {kind}" in steps for kind in ("import", "many", "remove", "rebuild", "compact", "guest"))


def check(store: Path, state: dict[int, int | None], moment: str) -> None:
    """What was acknowledged is there and found, what was erased has left no byte, and nothing is half."""
    with DomainLibrary(store) as library:
        assert library.verify() == (), moment
        assert library.verify(owner_id="guest") == (), moment
        held = {int(Path(one.path).stem): one for one in library.list()}
        for name, version in state.items():
            assert (name in held) == (version is not None), f"document {name} {moment}"
            if version is not None:
                found = library.search(f"word{name}x{version}x2", document_ids=[held[name].document_id])
                assert found, f"document {name} edition {version} {moment}"
                assert f"word{name}x{version}x2" in found[0].text
        for name, document in held.items():
            text = library.read(document.path, limit_characters=100_000).text
            editions = {word for word in text.split() if word.startswith("edition")}
            assert len(editions) == 1, f"document {name} mixes {editions} {moment}"
            assert text.count("## ") == 0
            assert text.count(f"document{name} in") == 4
        has_guest = bool(library.list(owner_id="guest"))
    if not has_guest:
        assert not found_in(store, b"Quastenflosser"), f"the guest was not forgotten {moment}"
    for name, version in state.items():
        if version is None:
            assert not found_in(store, f"word{name}x".encode()), f"document {name} was not erased {moment}"
    assert not list((store / "originals").rglob("*.part"))
