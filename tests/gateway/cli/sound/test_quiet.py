"""What C libraries write to standard error does not reach the screen; what Python writes does, in order."""

import subprocess
import sys

WRITES = """
import os, sys
from gateway.cli.sound.quiet import quiet_libraries
with quiet_libraries():
    os.write(2, b"ALSA lib confmisc.c\\n")
    print("ours", file=sys.stderr)
    print("the screen's", file=sys.__stderr__)
os.write(2, b"afterwards\\n")
print("ours again", file=sys.stderr)
"""


def test_only_the_libraries_are_silenced_and_only_for_a_while() -> None:
    """Textual draws through Python's own standard error, so the screen stays whole."""
    command = [sys.executable, "-c", WRITES]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert finished.stderr.splitlines() == ["ours", "the screen's", "afterwards", "ours again"]
