"""The help desk example runs as it is written, and its answers are honest."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_same_question_gets_two_honest_answers() -> None:
    """A customer hears the published article, support the draft; what is published is known at once."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples/help_desk/help_desk.py")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    assert finished.returncode == 0, finished.stderr
    question, casey, sam, _, later, audited = finished.stdout.splitlines()
    assert question == "How long does a refund take?"
    assert "five working days" in casey
    assert "second signature" not in casey
    assert "second signature" in sam
    assert "second signature" in later
    assert audited.startswith("The audit log is whole")
