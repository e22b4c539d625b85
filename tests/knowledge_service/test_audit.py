"""The audit log only grows, survives crashes and several writers, and shows every change."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_service import AuditBroken
from knowledge_service.audit import AuditHead, AuditLog
from knowledge_service.events import SourceChanged


def event(name: str = "articles", version: int = 1) -> SourceChanged:
    return SourceChanged(source_id=name, change="registered", version=version)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    made = AuditLog(tmp_path / "audit.jsonl")
    for number in range(5):
        made.append(event(version=number + 1))
    return made


def lines(log: AuditLog) -> list[str]:
    return log._path.read_text().splitlines()


def test_a_log_is_whole_and_tells_what_happened(log: AuditLog) -> None:
    """Events come back in order with their kind."""
    assert log.verify().lines == 5
    assert [(entry.number, entry.event["kind"], entry.event["version"]) for entry in log.entries(2)] == [
        (4, "SourceChanged", 4),
        (5, "SourceChanged", 5),
    ]
    assert AuditLog(log._path.with_name("none")).verify() == AuditHead(0, "0" * 64)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda held: [*held[:1], held[1].replace('"articles"', '"secrets"'), *held[2:]], 2),
        (lambda held: [*held[:1], *held[2:]], 2),
        (lambda held: [held[1], held[0], *held[2:]], 1),
        (lambda held: [*held[:2], held[1], *held[2:]], 3),
        (lambda held: [*held[:2], "not json", *held[2:]], 3),
        (lambda held: held[1:], 1),
    ],
)
def test_a_changed_log_is_found_out_with_its_line(log: AuditLog, change: object, line: int) -> None:
    """Changed, removed, moved, doubled and foreign lines."""
    log._path.write_text("\n".join(change(lines(log))) + "\n")  # type: ignore[operator]
    with pytest.raises(AuditBroken) as broken:
        log.verify()
    assert broken.value.line == line


def test_a_line_that_was_written_anew_breaks_the_one_after_it(log: AuditLog) -> None:
    """Whoever changes a line and computes its hash again would have to do so for all that follow."""
    held = lines(log)
    entry = json.loads(held[1])
    entry["event"]["version"] = 99
    entry["hash"] = log._hash(entry)
    log._path.write_text("\n".join([held[0], json.dumps(entry), *held[2:]]) + "\n")
    with pytest.raises(AuditBroken) as broken:
        log.verify()
    assert broken.value.line == 3


def test_lines_cut_off_the_end_are_found_out_by_an_earlier_head(log: AuditLog) -> None:
    """The chain alone cannot know; a head noted elsewhere can."""
    head = log.head()
    log._path.write_text("\n".join(lines(log)[:3]) + "\n")
    assert log.verify().lines == 3
    with pytest.raises(AuditBroken, match="once had 5 entries"):
        log.verify(head)
    log.append(event())
    log.append(event())
    with pytest.raises(AuditBroken, match="is not the line that was there"):
        log.verify(head)


def test_without_the_key_nobody_can_write_a_good_line(tmp_path: Path) -> None:
    """Whoever can write the file but has no key cannot forge a history."""
    AuditLog(tmp_path / "audit.jsonl", key=b"secret").append(event())
    with pytest.raises(AuditBroken):
        AuditLog(tmp_path / "audit.jsonl").verify()
    AuditLog(tmp_path / "audit.jsonl").append(event())
    with pytest.raises(AuditBroken):
        AuditLog(tmp_path / "audit.jsonl", key=b"secret").verify()


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(1, 200), before=st.integers(0, 3))
def test_a_line_torn_by_a_crash_is_closed_and_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, cut: int, before: int
) -> None:
    """The log goes on after a crash in the middle of a line, and stays good."""
    log = AuditLog(tmp_path_factory.mktemp("audit") / "audit.jsonl")
    for _ in range(before + 1):
        log.append(event())
    whole = log._path.read_bytes()
    last = len(whole.splitlines()[-1])
    log._path.write_bytes(whole[: -1 - min(cut, last - 1)])
    assert log.verify().lines == before
    log.append(event())
    assert log.verify().lines == before + 2
    assert log.entries()[before].event["kind"] == "torn"


WRITER = """
import sys
from pathlib import Path
from knowledge_service.audit import AuditLog
from knowledge_service.events import SourceChanged
log = AuditLog(Path(sys.argv[1]))
for number in range(50):
    log.append(SourceChanged(source_id=sys.argv[2], change="registered", version=number + 1))
"""


def test_several_processes_share_one_log(tmp_path: Path) -> None:
    """Their lines interleave in one chain."""
    path = tmp_path / "audit.jsonl"
    root = Path(__file__).parent.parent.parent
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=root) for name in ("first", "second")
    ]
    assert [process.wait(timeout=30) for process in processes] == [0, 0]
    assert AuditLog(path).verify().lines == 100
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_others_cannot_read_the_log(log: AuditLog) -> None:
    """Who asked what is nobody else's business."""
    assert log._path.stat().st_mode & 0o077 == 0
