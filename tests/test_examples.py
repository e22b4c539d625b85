"""Every example runs as it is written."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run_example(name: str) -> str:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / name)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_quickstart_prints_a_cited_answer() -> None:
    """Fifteen lines of a provider of one's own lead to a spoken answer with a link beside it."""
    output = run_example("quickstart.py")
    assert "Releases require two reviewers." in output
    assert "Release handbook" in output
    assert "https://docs.example.com/releases" in output


def test_an_embedder_of_ones_own_finds_a_passage_by_its_meaning() -> None:
    """A German question is answered from an English passage that has none of its words."""
    output = run_example("library_embedder.py")
    assert "The kettle is on the shelf. (found by semantic search, similarity 0.71)" in output
