"""Two processes, a full disk, media that cannot be written, a file that is no library."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local_library import DomainLibrary, LibraryBusy, LibraryDamaged, LibraryStorageFailed

ROOT = Path(__file__).parents[2]
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
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


def run(program: str, *arguments: str, before: Callable[[], None] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=before,
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
def test_a_file_that_may_not_grow_loses_nothing(filled: Path, limit: int) -> None:
    """Wherever the growth of files ends, one clear error comes and the documents before it are whole and found."""
    printed, _ = run(FULL, str(filled), str(limit)).communicate(timeout=60)
    assert printed.startswith("refused: The library in")
    with DomainLibrary(filled) as library:
        assert library.verify() == ()
        assert library.search("boiler descaled")
        library.import_bytes("/after.md", b"A kettle stands here.")
        assert library.search("where is the kettle")


FILL = """
import random, sys
from pathlib import Path
from local_library import DomainLibrary, LibraryStorageFailed
from tests.local_library.crash_worker import InProcess

disk = Path(sys.argv[1])
(disk / "ballast").write_bytes(bytes(6_000_000))
choose = random.Random(7)
with DomainLibrary(disk / "store", extractor=InProcess()) as library:
    number = 0
    try:
        while True:
            words = " ".join("".join(choose.choices("abcdefghij", k=8)) for _ in range(12_000))
            library.import_bytes(f"/{number}.md", f"# Telling{number}title\\n\\n{words}".encode())
            number += 1
    except LibraryStorageFailed as error:
        print("refused:", error)
    print("imported:", number)
with DomainLibrary(disk / "store", extractor=InProcess()) as library:
    print("found:", sum(bool(library.search(f"telling{one}title")) for one in range(number)))
(disk / "ballast").unlink()
with DomainLibrary(disk / "store", extractor=InProcess()) as library:
    library.import_bytes("/after.md", b"A kettle stands here.")
    print(library.search("where is the kettle")[0].text, library.verify())
    listed = [Path(one.path).stem for one in library.list() if one.path != "/after.md"]
    print("whole:", len(listed), sum(bool(library.search(f"telling{one}title")) for one in listed))
"""


def on_a_small_disk(*command: str) -> list[str]:
    """``command`` with a disk of 20 MB at its last argument, which goes when the command ends."""
    own = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",))]
    return [*own, "sh", "-c", 'mount -t tmpfs -o size=20m tmpfs "$0" && exec "$@"', command[-1], *command]


def can_mount() -> bool:
    try:
        return subprocess.run(on_a_small_disk("true", "/mnt"), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("disk", ["small disk"] if can_mount() else [])
def test_a_full_disk_loses_nothing(tmp_path: Path, disk: str) -> None:
    """On a real file system without space: one error, every document before it whole, and all is well with space."""
    command = on_a_small_disk(sys.executable, "-c", FILL, str(tmp_path))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    lines = ended.stdout.splitlines()
    assert lines[0].startswith(f"refused: The library in {tmp_path / 'store'} cannot write: "), ended.stderr
    count = int(lines[1].split()[1])
    assert count > 2
    assert lines[2:4] == [f"found: {count}", "A kettle stands here. ()"], ended.stderr
    # Where the space ended after the records of the last one, it is whole as soon as there is space for its index.
    assert lines[4] in (f"whole: {count} {count}", f"whole: {count + 1} {count + 1}")


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    """The store below a file cannot exist."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(LibraryStorageFailed, match="cannot write"):
        DomainLibrary(tmp_path / "file" / "store")


@contextmanager
def made_read_only(store: Path) -> Iterator[None]:
    """Nobody can write this store, as on a read-only disk."""
    everything = [store, *store.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield
    for path in everything:
        path.chmod(0o755)


READ = """
import sys
from pathlib import Path
from local_library import DomainLibrary, LibraryStorageFailed

def attempt(change):
    try:
        change()
    except (LibraryStorageFailed, PermissionError) as error:
        print(error)

def use():
    with DomainLibrary(sys.argv[1]) as library:
        attempt(lambda: print(library.search("boiler descaled")[0].text))
        print(len(library.list()), library.verify(), library.read("/note.md").title)
        attempt(lambda: library.import_bytes("/x.md", b"x y z"))
        attempt(lambda: library.remove("/note.md"))
        attempt(library.compact)

attempt(lambda: (Path(sys.argv[1]) / "x").write_text("x"))
attempt(use)
"""


def without_roots_rights() -> None:
    """Let the next program in this process obey permissions even when it runs as root."""
    if os.geteuid() == 0:
        dropped = ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)
        assert dropped == 0, "root may write anywhere here"


def read_only_run(store: Path) -> list[str]:
    with made_read_only(store):
        first, *lines = run(READ, str(store), before=without_roots_rights).communicate(timeout=60)[0].splitlines()
    assert "Permission denied" in first, "this store can be written"
    return lines


def test_a_store_that_cannot_be_written_is_read_and_searched(filled: Path) -> None:
    """Read-only media answer as they stand; what would change them is refused in one sentence."""
    refusal = f"The library in {filled} cannot write: Permission denied. Nothing stored before is lost."
    assert read_only_run(filled) == ["The boiler is descaled in March.", "1 () Note", *[refusal] * 3]


def test_a_store_without_its_index_is_not_searched_where_it_cannot_be_made(filled: Path) -> None:
    """The one thing a search cannot do without is named; everything else works."""
    shutil.rmtree(filled / "index")
    searched, looked, *_ = read_only_run(filled)
    needed = "its index has to be made anew, and it may only be read"
    assert searched == f"The library in {filled} cannot write: {needed}. Nothing stored before is lost."
    assert looked.startswith("1 (")


def test_a_store_of_an_earlier_version_has_to_be_opened_for_writing_once(filled: Path) -> None:
    """Nothing is read wrongly: what has to be done first is said."""
    records = sqlite3.connect(filled / "records.sqlite")
    records.execute("PRAGMA user_version = 2")
    records.close()
    assert "an earlier version made it; open it once where it can be written" in read_only_run(filled)[-1]


def test_a_store_that_was_not_closed_has_to_be_opened_for_writing_once(filled: Path) -> None:
    """A copy of a library at work lacks what is still in its log, and does not pretend to be whole."""
    (filled / "records.sqlite-wal").write_bytes(b"a log that another process was writing")
    assert "it was not closed; open it once where it can be written" in read_only_run(filled)[-1]


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """Another program's file is neither read nor overwritten."""
    (tmp_path / "records.sqlite").write_text("this is no database, only text that is long enough to look at " * 20)
    with pytest.raises(LibraryDamaged, match="cannot be opened"):
        DomainLibrary(tmp_path)
    assert (tmp_path / "records.sqlite").read_text().startswith("this is no database")
