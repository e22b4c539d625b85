"""The library from the shell: what it prints, and how it ends."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from local_library.cli import library


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "boiler.md").write_text("# Boiler\n\nThe boiler is descaled in March.\n\n## Pressure\n\nAt 1.5 bar.\n")
    (folder / "empty.md").write_text("")
    return folder


def run(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(library, ["--store", str(store), *arguments])


def test_a_folder_goes_in_and_is_listed_found_read_and_removed(tmp_path: Path, notes: Path) -> None:
    """The whole round, in words for people."""
    store = tmp_path / "store"
    imported = run(store, "import", str(notes))
    assert imported.exit_code == 0
    assert imported.stdout.splitlines()[-1] == "1 added, 1 rejected"
    assert "Not imported: empty.md: is empty." in imported.stdout
    assert "Boiler" in run(store, "list").stdout
    assert "The boiler is descaled in March." in run(store, "search", "when is the boiler descaled").stdout
    assert run(store, "read", f"{notes / 'boiler.md'}#Pressure").stdout.strip().endswith("At 1.5 bar.")
    assert "- Pressure" in run(store, "show", str(notes / "boiler.md")).stdout
    assert run(store, "verify").stdout == "All is well.\n"
    assert run(store, "rebuild-index").exit_code == 0
    assert run(store, "remove", str(notes / "boiler.md")).stdout == "Removed Boiler\n"
    assert "No documents yet" in run(store, "list").stdout
    assert (notes / "boiler.md").exists()


def test_json_is_whole_and_alone_on_standard_output(tmp_path: Path, notes: Path) -> None:
    """A program reads every command's answer."""
    store = tmp_path / "store"
    outcomes = json.loads(run(store, "--json", "import", str(notes)).stdout)
    assert [one["status"] for one in outcomes] == ["added", "rejected"]
    listed = json.loads(run(store, "--json", "list").stdout)
    assert listed["documents"][0]["title"] == "Boiler"
    assert listed["quarantined"][0]["reason_code"] == "empty"
    assert json.loads(run(store, "--json", "search", "boiler descaled").stdout)[0]["text"]
    assert json.loads(run(store, "--json", "verify").stdout) == []


def test_the_list_tells_pages_and_status(tmp_path: Path, pdf: Callable[..., bytes]) -> None:
    """For people in columns, for programs in JSON; `show` says the same of one document."""
    store, path = tmp_path / "store", tmp_path / "manual.pdf"
    path.write_bytes(pdf(["The boiler is descaled in March.", "At 1.5 bar.", "Call Priya."]))
    run(store, "import", str(path))
    assert run(store, "list").stdout.splitlines()[1].split()[2:6] == ["3", "3", "1", "ready"]
    path.write_bytes(path.read_bytes() + b"\n")
    listed = json.loads(run(store, "--json", "list").stdout)["documents"][0]
    shown = json.loads(run(store, "--json", "show", str(path)).stdout)
    assert (listed["pages"], listed["status"]) == (shown["pages"], shown["status"]) == (3, "changed")
    assert "Status: changed. Its file was changed" in run(store, "show", str(path)).stdout


def test_a_refused_file_is_tried_again_and_dismissed(tmp_path: Path, notes: Path) -> None:
    """A retry in vain says why and ends with 1; dismissed, the file is listed no more."""
    store, empty = tmp_path / "store", str(notes / "empty.md")
    run(store, "import", str(notes))
    assert f"({empty})" in run(store, "list").stdout.replace("\n", "")
    again = run(store, "retry", empty)
    assert (again.exit_code, "is empty" in again.stderr) == (1, True)
    assert run(store, "dismiss", empty).exit_code == 0
    assert "Not imported" not in run(store, "list").stdout
    assert run(store, "dismiss", empty).exit_code == 1


def test_reconcile_reports_by_its_exit_status(tmp_path: Path, notes: Path) -> None:
    """Drift that nobody acted on ends with 1; a second look after acting with 0."""
    store = tmp_path / "store"
    run(store, "import", str(notes))
    (notes / "boiler.md").unlink()
    looked = run(store, "reconcile")
    assert (looked.exit_code, looked.stdout) == (1, f"missing: {notes / 'boiler.md'}\n")
    assert run(store, "reconcile", "--delete-stale").exit_code == 0
    assert run(store, "reconcile").stdout == "Every file is as it was imported.\n"


@pytest.mark.parametrize(
    "arguments", [("show", "nothing"), ("import", "/no/such/file.md"), ("read", "nothing"), ("remove", "nothing")]
)
def test_what_is_not_there_is_one_line_and_status_1(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """No traceback, a sentence on standard error."""
    result = run(tmp_path / "store", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1


def test_nothing_relevant_ends_with_status_1(tmp_path: Path, notes: Path) -> None:
    """The shell can tell that the documents do not say."""
    run(tmp_path / "store", "import", str(notes))
    result = run(tmp_path / "store", "search", "who won the world cup")
    assert (result.exit_code, result.stdout) == (1, "Nothing in the documents answers this.\n")


def test_a_name_that_is_no_unicode_is_refused_and_the_rest_goes_in(tmp_path: Path, notes: Path) -> None:
    """It is listed with escapes for what it holds, and named alone it is refused in a sentence."""
    store, name = tmp_path / "store", notes / os.fsdecode(b"bad\xff\xfe.txt")
    name.write_text("Text.\n")
    imported = run(store, "import", str(notes))
    assert imported.stdout.splitlines()[-1] == "1 added, 2 rejected"
    assert r"Not imported: bad\udcff\udcfe.txt: its name is not valid Unicode. Rename it." in imported.stdout
    listed = json.loads(run(store, "--json", "list").stdout)["quarantined"]
    assert (Path(listed[0]["path"]).name, listed[0]["reason_code"]) == (r"bad\udcff\udcfe.txt", "unsafe")
    for command in ("import", "show", "read"):
        alone = run(store, command, str(name))
        assert (alone.exit_code, len(alone.stderr.splitlines())) == (1, 1)
    assert run(store, "dismiss", str(name)).exit_code == 0


def test_titles_and_paths_are_printed_as_they_are(tmp_path: Path) -> None:
    """What looks like markup of the terminal library is text."""
    store, path = tmp_path / "store", tmp_path / "[bold]x[red].md"
    path.write_text("# A [/red] [link=http://evil.example]x[/link]\n\nText.\n")
    run(store, "import", str(path))
    listed = run(store, "list")
    assert listed.exit_code == 0
    shown = "".join(listed.stdout.split())
    assert "[/red]" in shown
    assert "[link=" in shown
    assert "[bold]" in shown


def test_control_characters_are_printed_as_escapes(tmp_path: Path) -> None:
    """A title or a path can neither steer the terminal nor begin a line of its own."""
    store, path = tmp_path / "store", tmp_path / "a\x1b[2J\nb.md"
    path.write_text("# Boiler \x1b]0;owned\x07\n\nThe boiler \x1b[31mis descaled in March.\n")
    (tmp_path / "empty\x1b\n.md").write_text("")
    printed = [
        run(store, *arguments)
        for arguments in (
            ("import", str(tmp_path)),
            ("list",),
            ("show", str(path)),
            ("read", str(path)),
            ("search", "when is the boiler descaled"),
            ("show", "no\x1b\nthing"),
            ("remove", str(path)),
        )
    ]
    assert [one.exit_code for one in printed] == [0, 0, 0, 0, 0, 1, 0]
    assert not any(control in one.output for one in printed for control in "\x1b\x07")
    assert r"empty\x1b\n.md" in printed[0].stdout
    assert r"a\x1b[2J\nb.md" in printed[2].stdout


@pytest.mark.parametrize("place", ["file/below", "file", "/proc/x", "x" * 300])
def test_a_place_that_cannot_take_an_export_is_refused_in_a_sentence(tmp_path: Path, place: str) -> None:
    """Nothing but one line, which says what to name instead."""
    (tmp_path / "file").write_text("")
    result = run(tmp_path / "store", "export", str(tmp_path / place))
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert result.stderr.endswith("Name a folder that is empty or does not exist.\n")


def test_an_export_into_a_folder_with_files_says_what_to_name(tmp_path: Path, notes: Path) -> None:
    """A folder with documents in it would be refused again."""
    result = run(tmp_path / "store", "export", str(notes))
    assert result.stderr.endswith("is not empty. Name a folder that is empty or does not exist.\n")


@pytest.mark.parametrize("arguments", [("import", ""), ("export", ""), ("--store", "", "list")])
def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A variable of a script that was never set imports nothing."""
    result = run(tmp_path / "store", *arguments)
    assert result.exit_code == 2
    assert "an empty path names nothing" in result.stderr


@pytest.mark.parametrize("other", ["nothere", "x" * 300])
def test_nothing_goes_in_where_one_of_the_paths_cannot_be_reached(tmp_path: Path, notes: Path, other: str) -> None:
    """The paths are looked at before the first import."""
    store = tmp_path / "store"
    result = run(store, "import", str(notes), str(tmp_path / other))
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert json.loads(run(store, "--json", "list").stdout) == {"documents": [], "quarantined": []}
