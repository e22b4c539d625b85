"""The library from the shell: what it prints, and how it ends."""

import json
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
