"""Which files a folder's import meets, and how it works through them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_library import DocumentRejected, DomainLibrary, FolderNotUsable, ImportOutcome, folders
from local_library.folders import READ_AHEAD, content_of, files_below, ignored_by, is_wanted, usable_folder
from tests.local_library.crash_worker import InProcess


@pytest.fixture
def library(tmp_path: Path) -> Iterator[DomainLibrary]:
    """A library that reads in this process."""
    with DomainLibrary(tmp_path / "store", extractor=InProcess()) as opened:
        yield opened


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# Note\n\nText.\n")
    return folder


def contents(count: int) -> Iterator[tuple[str, bytes]]:
    return ((f"/{number}.md", b"# Note\n\nOne passage.\n\n## And\n\nAnother.\n") for number in range(count))


NAMES = (
    *("a.md", "b/c.md", "b/.hidden.md", ".git/d.md", "b/node_modules/e.md", "f.png", "~$g.docx", "build/h.md"),
    *("~tmp/i.md", "b/build.md", "j", "deep/er/still/k.txt", "B.MD"),
)


def test_a_single_path_is_wanted_exactly_when_the_import_meets_it(tmp_path: Path) -> None:
    """Watching and importing agree on every name, and the order is stable."""
    folder = made(tmp_path / "documents", *NAMES)
    met = [str(path.relative_to(folder)) for path in files_below(folder, lambda _: False)]
    assert set(met) == {name for name in NAMES if is_wanted(Path(name))}
    assert met == ["B.MD", "a.md", "b/build.md", "b/c.md", "deep/er/still/k.txt"]


@pytest.mark.parametrize(
    ("pattern", "left_out"),
    [
        ("*.log", {"a.log", "b/c.log"}),
        ("drafts/*", {"drafts/d.md"}),
        ("drafts", {"drafts/d.md", "drafts/deep/e.md"}),
        ("drafts/", {"drafts/d.md", "drafts/deep/e.md"}),
        ("drafts/deep", {"drafts/deep/e.md"}),
        ("f.md", {"f.md"}),
        ("# f.md", set()),
        ("", set()),
    ],
)
def test_a_pattern_leaves_out_files_or_a_folder(tmp_path: Path, pattern: str, left_out: set[str]) -> None:
    """Given by the caller or in the folder's own file, where a line may be a comment or empty."""
    names = ("a.log", "b/c.log", "drafts/d.md", "drafts/deep/e.md", "f.md")
    given, listed = made(tmp_path / "1", *names), made(tmp_path / "2", *names)
    (listed / ".earpieceignore").write_text(f"# ours\n\n{pattern}\n")
    ways = [(listed, ignored_by(listed, ()))]
    if left_out:
        ways.append((given, ignored_by(given, (pattern,))))
    for folder, ignore in ways:
        assert {name for name in names if ignore(folder / name)} == left_out


def test_a_file_of_the_largest_size_is_read_and_none_above(tmp_path: Path) -> None:
    """The limit is named in megabytes, and the file is not read at all."""
    path = tmp_path / "large.md"
    path.write_bytes(b"x" * 2_000_000)
    assert len(content_of(path, 2_000_000)) == 2_000_000
    with pytest.raises(DocumentRejected, match="the limit is 2 MB") as refused:
        content_of(path, 1_999_999)
    assert refused.value.reason_code == "too_large"


def test_what_is_no_folder_is_refused_by_name(tmp_path: Path) -> None:
    """A file and a place where nothing is are told apart."""
    made(tmp_path, "file.md")
    with pytest.raises(FolderNotUsable, match="is a file, not a folder"):
        usable_folder(tmp_path / "file.md")
    with pytest.raises(FolderNotUsable, match="there is no such folder"):
        usable_folder(tmp_path / "nowhere")
    with pytest.raises(FolderNotUsable, match="cannot be read"):
        usable_folder(tmp_path / ("x" * 300))


def test_a_folder_that_may_not_be_looked_into_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look is for the file that says what to leave out."""

    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(FolderNotUsable, match=r"cannot be read \(permission denied\)"):
        ignored_by(tmp_path, ())


def test_a_path_that_no_record_can_hold_is_rejected_and_the_rest_goes_in(library: DomainLibrary) -> None:
    """The outcome and the quarantine name it alike, with escapes; an upload of it is refused."""
    outcomes = library.import_many([("/bad\udcff.md", b"Text."), *contents(1)])
    assert [(one.path, one.reason_code) for one in outcomes] == [(r"/bad\udcff.md", "unsafe"), ("/0.md", "")]
    assert [one.path for one in library.quarantined()] == [r"/bad\udcff.md"]
    with pytest.raises(DocumentRejected, match="its name is not valid Unicode"):
        library.import_bytes("/bad\udcff.md", b"Text.")


def test_the_library_does_not_import_itself(library: DomainLibrary, tmp_path: Path) -> None:
    """Neither when its folder is named nor when it lies in the folder that is."""
    made(tmp_path, "a.md")
    made(library.store, "inside.md")
    with pytest.raises(FolderNotUsable, match="belongs to the library itself"):
        library.import_folder(library.store / "originals" if (library.store / "originals").exists() else library.store)
    assert [Path(one.path).name for one in library.import_folder(tmp_path)] == ["a.md"]


def test_a_long_import_is_found_as_it_goes(library: DomainLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index takes over what was stored every so often, not only at the end; a search waits for nothing."""
    monkeypatch.setattr(folders, "COMMIT_EVERY_PASSAGES", 6)
    found: list[int] = []

    def look(_: ImportOutcome) -> None:
        with ThreadPoolExecutor(1) as other_thread:
            search = other_thread.submit(library.search, "another", limit=20)
            found.append(len(search.result(timeout=10)))

    library.import_many(contents(5), progress=look)
    assert found == sorted(found)
    assert found[:2] == [0, 0]
    assert found[-1] > 0


def test_the_last_files_of_an_import_are_found_when_it_returns(library: DomainLibrary) -> None:
    """Also in a library that has an index already, which nobody finds wanting."""
    library.import_bytes("/first.md", b"# First\n\nText.\n")
    library.import_many(contents(2))
    assert {one.passage.path for one in library.search("another", limit=5)} >= {"/0.md"}
    assert library.verify() == ()


def test_files_are_read_a_little_ahead_and_no_more(library: DomainLibrary) -> None:
    """A large folder is not held in memory."""
    begun = 0
    ahead: list[int] = []
    done: list[ImportOutcome] = []

    def counted() -> Iterator[tuple[str, bytes]]:
        nonlocal begun
        for one in contents(30):
            begun += 1
            yield one

    def progress(outcome: ImportOutcome) -> None:
        done.append(outcome)
        ahead.append(begun - len(done))

    outcomes = library.import_many(counted(), progress=progress)
    assert tuple(done) == outcomes
    assert [one.path for one in outcomes] == [f"/{number}.md" for number in range(30)]
    assert max(ahead) == READ_AHEAD
