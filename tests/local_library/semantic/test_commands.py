"""`earpiece library --embedder offline`: the real model behind the real commands."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from local_library.cli import library

GERMAN = "Wie viele Urlaubstage habe ich im Jahr?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one English document, imported with the embedder."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "leave.md").write_text("# Annual leave\n\nEvery employee has thirty days of annual leave per year.\n")
    done = run(folder / "store", "import", str(folder / "leave.md"), embedder=True)
    assert done.exit_code == 0, done.output
    return folder / "store"


def run(store: Path, *arguments: str, embedder: bool, as_json: bool = False) -> Result:
    environment = {"EARPIECE_DOMAIN_LIBRARY_EMBEDDER": "offline" if embedder else ""}
    options = ["--store", str(store), *(["--json"] if as_json else [])]
    return CliRunner().invoke(library, [*options, *arguments], env=environment)


def test_a_question_in_another_language_finds_the_passage(store: Path) -> None:
    """The import ended with the vectors made, so the next command finds by meaning."""
    done = run(store, "search", GERMAN, embedder=True)
    assert done.exit_code == 0, done.output
    assert "thirty days of annual leave" in done.output


def test_without_the_embedder_the_same_question_finds_nothing(store: Path) -> None:
    """Off is off."""
    assert run(store, "search", GERMAN, embedder=False).exit_code == 1


def test_the_option_wins_over_the_variable(store: Path) -> None:
    """`--embedder off` searches by words alone."""
    done = CliRunner().invoke(
        library,
        ["--store", str(store), "--embedder", "off", "search", GERMAN],
        env={"EARPIECE_DOMAIN_LIBRARY_EMBEDDER": "offline"},
    )
    assert done.exit_code == 1


def test_verify_and_show_say_how_many_passages_have_vectors(store: Path) -> None:
    """Whoever looks sees whether the embedding is done."""
    assert "1 of 1 passages can be found by meaning" in run(store, "verify", embedder=False).output
    listed = json.loads(run(store, "list", embedder=False, as_json=True).output)
    document_id = listed["documents"][0]["document_id"]
    assert "1 of 1 passages can be found by meaning" in run(store, "show", document_id, embedder=False).output
    assert json.loads(run(store, "show", document_id, embedder=False, as_json=True).output)["vectors"] == 1


def test_the_rebuilt_index_has_its_vectors(store: Path) -> None:
    """Rebuilding with the embedder makes both halves anew."""
    assert run(store, "rebuild-index", embedder=True).exit_code == 0
    assert "1 of 1 passages" in run(store, "verify", embedder=False).output
    assert run(store, "search", GERMAN, embedder=True).exit_code == 0
