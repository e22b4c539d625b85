"""Processes that work on a library until they are killed: the side that kills, and the side that forks them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Nursery:
    """A process that forks a child for each order, so that none has to start Python anew."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def kill(self, store: Path, seed: int, delay: float, *, opening: bool = False) -> None:
        """Start a child on ``store``, kill it after ``delay`` seconds, and wait until it is gone.

        The seconds count from when it is at work, or with ``opening`` from its first moment.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{store} {seed} {'opening' if opening else 'working'}\n")
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        threading.Event().wait(delay)  # the moment of the kill is what is random here
        os.kill(child, signal.SIGKILL)
        assert self._process.stdout.readline() == "ended\n"
        failed = store.parent / "failed"
        assert not failed.exists(), failed.read_text()


@contextmanager
def nursery(program: Path) -> Iterator[Nursery]:
    """Run ``program``, which calls `fork_children`."""
    process = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()


def fork_children(work: Callable[[Path, int, int], None]) -> None:
    """Answer orders from standard input with the id of a child that does ``work``, then with ``ended``.

    ``work`` gets the store, a seed, and a descriptor to write to when it has begun.
    """
    for line in sys.stdin:
        store, seed, when = line.split()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                work(Path(store), int(seed), writing)
            except BaseException as error:
                (Path(store).parent / "failed").write_text(repr(error))
            os._exit(1)
        os.close(writing)
        if when == "working":
            os.read(reading, 1)
        os.close(reading)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


__all__ = ["Nursery", "fork_children", "nursery"]
