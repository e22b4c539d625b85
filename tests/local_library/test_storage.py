"""Two processes, a full disk, media that cannot be written, a file that is no library."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_library import DomainLibrary, LibraryBusy, LibraryDamaged, LibraryStorageFailed

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from local_library import DomainLibrary
library = DomainLibrary(sys.argv[1])
with library._workspace.writing():
    print("writing", flush=True)
    sys.stdin.readline()
library.close()
"""
FULL = """
import resource, signal, sys
from pathlib import Path
from local_library import DomainLibrary, LibraryStorageFailed
library = DomainLibrary(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
big = " ".join(f"word{n}" for n in range(60_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    library.import_bytes("/big.md", big.encode())
except LibraryStorageFailed as error:
    print("refused:", error)
"""


def run(program: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store with one document."""
    with DomainLibrary(tmp_path / "store") as library:
        library.import_bytes("/note.md", b"# Note\n\nThe boiler is descaled in March.\n")
    return tmp_path / "store"


@pytest.fixture
def writer(filled: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process in the middle of writing."""
    process = run(HOLD, str(filled))
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "writing\n"
    yield process
    if not process.stdin.closed:
        process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()


def test_a_library_is_read_while_another_process_writes(filled: Path, writer: "subprocess.Popen[str]") -> None:
    """Readers wait for nobody, not even while opening."""
    with DomainLibrary(filled) as reader:
        assert reader.search("boiler descaled")


def test_a_second_writer_says_so(filled: Path, writer: "subprocess.Popen[str]") -> None:
    """After its wait the second writer is told that another process is writing."""
    with DomainLibrary(filled, writer_wait_seconds=0.1) as second:
        with pytest.raises(LibraryBusy, match="Another process is writing"):
            second.import_bytes("/second.md", b"Second.")
        assert len(second.list()) == 1


def test_a_second_writer_waits_for_its_turn(filled: Path, writer: "subprocess.Popen[str]") -> None:
    """The import goes through as soon as the first writer is done."""
    assert writer.stdin is not None
    with DomainLibrary(filled, writer_wait_seconds=20) as second:
        threading.Timer(0.2, writer.stdin.close).start()
        second.import_bytes("/second.md", b"A kettle stands here.")
        assert second.search("where is the kettle")


def test_what_another_process_imported_is_found(filled: Path) -> None:
    """A reader that stays open sees the new document without opening again."""
    program = "import sys\nfrom local_library import DomainLibrary\n"
    program += "DomainLibrary(sys.argv[1]).import_bytes('/kettle.md', b'Priya repairs the kettle.')\n"
    with DomainLibrary(filled) as reader:
        assert reader.search("who repairs the kettle") == ()
        other = run(program, str(filled))
        other.communicate(timeout=60)
        assert reader.search("who repairs the kettle")


@pytest.mark.parametrize("limit", [1_000, 100_000, 300_000, 700_000])
def test_a_full_disk_loses_nothing(filled: Path, limit: int) -> None:
    """Wherever the disk ends, one clear error comes and the documents before it are whole and found."""
    printed, _ = run(FULL, str(filled), str(limit)).communicate(timeout=60)
    assert printed.startswith("refused: The library in")
    with DomainLibrary(filled) as library:
        assert library.verify() == ()
        assert library.search("boiler descaled")
        library.import_bytes("/after.md", b"A kettle stands here.")
        assert library.search("where is the kettle")


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    """The store below a file cannot exist."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(LibraryStorageFailed, match="cannot write"):
        DomainLibrary(tmp_path / "file" / "store")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written_is_one_clear_error(filled: Path) -> None:
    """Read-only media are named, and what they hold stays."""
    for path in (filled, *filled.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with pytest.raises(LibraryStorageFailed), DomainLibrary(filled) as library:
            library.import_bytes("/x.md", b"x y z")
    finally:
        for path in (filled, *filled.rglob("*")):
            path.chmod(0o755)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """Another program's file is neither read nor overwritten."""
    (tmp_path / "records.sqlite").write_text("this is no database, only text that is long enough to look at " * 20)
    with pytest.raises(LibraryDamaged, match="cannot be opened"):
        DomainLibrary(tmp_path)
    assert (tmp_path / "records.sqlite").read_text().startswith("this is no database")
