"""A process that is killed while it embeds leaves a library that opens, verifies and catches up."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER
from local_library import DomainLibrary
from local_library.semantic import DeterministicEmbedder
from local_library.semantic.embedded_text import embedded_text
from local_library.semantic.vector_files import as_rows

WORKER = Path(__file__).with_name("embedding_worker.py")
ROOT = WORKER.parents[3]
KILLS = 15
LONGEST_DELAY_SECONDS = 0.25


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[str]]:
    """A process that forks children which work on a library."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    yield process
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()


def killed(worker: subprocess.Popen[str], store: Path, seed: int, delay: float) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{store} {seed}\n")
    worker.stdin.flush()
    child = int(worker.stdout.readline())
    threading.Event().wait(delay)  # the moment of the kill is what is random here
    os.kill(child, signal.SIGKILL)
    assert worker.stdout.readline() == "ended\n"


def assert_each_vector_is_that_of_its_passage(library: DomainLibrary) -> None:
    """Compare every living row with what its passage gives now."""
    files = library._workspace.vectors._files(PERSONAL_OWNER)
    state = files.state()
    if state is None:
        return
    rows, lineage = files.mapped(state)
    living = {int(two["passage"]): one for one, two in zip(rows, lineage, strict=True) if two["passage"]}
    with library._workspace.reading() as catalog:
        passages = catalog.passages(PERSONAL_OWNER, sorted(living))
    for passage_id, passage in passages.items():
        expected = as_rows(DeterministicEmbedder().embed([embedded_text(passage)]))[0]
        assert living[passage_id].tobytes() == expected.tobytes()


@pytest.mark.slow
def test_a_process_killed_while_it_embeds_leaves_a_library_that_catches_up(
    worker: subprocess.Popen[str], tmp_path: Path
) -> None:
    """Fifteen kills at random moments: no vector is wrong, double, or left behind, and none is missing at the end."""
    store = tmp_path / "store"
    choose = random.Random(11)  # noqa: S311 - the moments of the kills, the same in every run
    vectors = 0
    for kill in range(1, KILLS + 1):
        killed(worker, store, kill, choose.uniform(0.0, LONGEST_DELAY_SECONDS))
        assert not (tmp_path / "failed").exists(), (tmp_path / "failed").read_text()
        with DomainLibrary(store) as library:
            assert library.verify() == (), f"after kill {kill}"
            assert_each_vector_is_that_of_its_passage(library)
            vectors = max(vectors, library.semantic.count())
    assert vectors > 0, "no kill came after a vector was kept"
    with DomainLibrary(store, embedder=DeterministicEmbedder()) as library:
        library.semantic.embed_missing()
        assert library.semantic.count() == sum(one.passages for one in library.list())
        assert library.verify() == ()
        assert_each_vector_is_that_of_its_passage(library)
