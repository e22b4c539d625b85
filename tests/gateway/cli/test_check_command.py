"""`earpiece check` tells authors whether their provider keeps the contract."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

GOOD = """
class Good:
    def describe(self):
        return {"protocolVersion": 1, "key": "good", "label": "Good"}

    async def retrieve(self, request, context):
        return [{"id": "1", "content": f"About {request.query} for {context.owner_id}."}]
"""

BAD = """
import time

class Bad:
    def describe(self):
        return {"protocolVersion": 1, "key": "bad", "label": "Bad"}

    async def retrieve(self, request, context):
        time.sleep(0.5)
        return "nothing useful"
"""


def check(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gateway.cli import main; main()", "check", target]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def test_a_good_provider_passes_every_check(tmp_path: Path) -> None:
    """Status 0 and a table without a failure."""
    (tmp_path / "mine.py").write_text(GOOD)
    finished = check(tmp_path, "mine:Good")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "fail" not in finished.stdout


def test_a_bad_provider_fails_with_sentences(tmp_path: Path) -> None:
    """Status 1, and the checks that failed say why."""
    (tmp_path / "mine.py").write_text(BAD)
    finished = check(tmp_path, "mine:Bad")
    assert finished.returncode == 1
    assert "fail" in finished.stdout


def test_a_target_that_cannot_be_imported_is_one_clear_line(tmp_path: Path) -> None:
    """The name that is missing is in the line."""
    finished = check(tmp_path, "nowhere.at_all:Factory")
    assert finished.returncode == 1
    assert "nowhere" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_target_of_the_wrong_form_is_one_clear_line(tmp_path: Path) -> None:
    """The form to use is in the line."""
    finished = check(tmp_path, "mine")
    assert finished.returncode == 1
    assert "package.module:factory" in finished.stderr


def test_a_path_in_place_of_a_module_is_one_clear_line(tmp_path: Path) -> None:
    """A file name is a likely slip."""
    finished = check(tmp_path, "../mine:Good")
    assert finished.returncode == 1
    assert "not the name of a module" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_factory_of_something_else_is_no_provider(tmp_path: Path) -> None:
    """The table says what is missing, and nothing is printed beside it."""
    finished = check(tmp_path, "os:getcwd")
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    assert "never retrieved" not in finished.stderr
