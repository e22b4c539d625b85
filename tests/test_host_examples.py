"""Each host asks the three questions of the demo and gives the demo's answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.demo import QUESTIONS

ROOT = Path(__file__).resolve().parent.parent
# Pipecat imports audioop, which warns that Python 3.13 has no such module; its users see that warning too.
LENIENT = {"host_pipecat.py": ["-W", "ignore:'audioop':DeprecationWarning"]}
ANSWERS = (
    "According to Release handbook, Every release needs two reviewers.",
    "根据《费用报销制度》，审批通过后，报销款在五个工作日内打入工资账户。",
    "I found nothing about that in the documents.",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["host_plain.py", "host_pipecat.py", "host_livekit.py", "host_openai_agents.py", "host_mcp.py"]
)
def test_a_host_gives_the_answers_of_the_demo(name: str) -> None:
    """The same three questions, the same answers, whichever stack carries the tool."""
    command = [sys.executable, "-W", "error", *LENIENT.get(name, []), str(ROOT / "examples" / name)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    asked = [line.removeprefix("You").strip() for line in lines if line.startswith("You ")]
    answered = [line.removeprefix("Assistant").strip() for line in lines if line.startswith("Assistant ")]
    assert asked == [expectation.question for expectation in QUESTIONS]
    assert answered == list(ANSWERS)


def test_the_demo_gives_these_answers() -> None:
    """What the hosts are held to is what the demo says."""
    command = [str(Path(sys.executable).with_name("earpiece")), "demo"]
    wide = {**os.environ, "COLUMNS": "200"}
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, env=wide, check=False)
    assert finished.returncode == 0, finished.stderr
    assert all(answer in finished.stdout for answer in ANSWERS)
