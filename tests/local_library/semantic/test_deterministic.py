"""The embedder for tests: the same bytes everywhere, and a refusal outside tests."""

import hashlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from local_library import EmbedderNotUsable
from local_library.semantic import DeterministicEmbedder

TEXTS = ("The boiler is descaled in March.", "锅炉三月除垢", "Ünïcode, with mârks!", "", "   ", "?!")
FINGERPRINT = "0279eb2b70aa1836663d04dcd04f1e4a1768b484288ed4ac386975bbc8381d12"


def test_the_deterministic_embedder_refuses_to_run_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside tests it cannot be made: one sentence says why, and how to insist."""
    monkeypatch.delenv("EARPIECE_ENVIRONMENT")
    with pytest.raises(EmbedderNotUsable, match=r"refuses to run in production\. .*allow_in_production=True"):
        DeterministicEmbedder()
    monkeypatch.setenv("EARPIECE_ENVIRONMENT", "production")
    with pytest.raises(EmbedderNotUsable):
        DeterministicEmbedder()


def test_the_override_is_loud_each_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever insists finds a warning in the log at every start."""
    monkeypatch.delenv("EARPIECE_ENVIRONMENT")
    for _ in range(2):
        DeterministicEmbedder(allow_in_production=True)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2
    assert "outside tests" in warnings[0].getMessage()


def test_in_the_test_environment_it_runs_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """A test that uses it needs no override and logs nothing."""
    DeterministicEmbedder()
    assert not caplog.records


def test_the_same_texts_give_the_same_bytes_on_every_machine() -> None:
    """The bytes are those of this file, whatever machine, library and hash seed made them."""
    made = DeterministicEmbedder().embed(TEXTS)
    assert made.dtype == numpy.float32
    assert made.shape == (len(TEXTS), 64)
    assert hashlib.sha256(made.astype("<f4").tobytes()).hexdigest() == FINGERPRINT


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_gives_the_same_bytes(seed: str) -> None:
    """Nothing of Python's own hashing goes into a vector."""
    code = (
        "import hashlib; from local_library.semantic import DeterministicEmbedder;"
        f"print(hashlib.sha256(DeterministicEmbedder().embed({TEXTS!r}).astype('<f4').tobytes()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == FINGERPRINT, done.stderr


def test_rows_have_length_one_and_texts_without_words_give_zeros() -> None:
    """What can be compared has a direction; what says nothing has none."""
    lengths = numpy.linalg.norm(DeterministicEmbedder().embed(TEXTS), axis=1)
    assert lengths[:3] == pytest.approx([1.0, 1.0, 1.0], abs=1e-6)
    assert lengths[3:].tolist() == [0.0, 0.0, 0.0]


def test_texts_with_common_words_are_nearer_than_others() -> None:
    """Good enough for tests of everything around it: shared words make vectors similar."""
    asked, near, far = DeterministicEmbedder().embed(
        ["when is the boiler descaled", "the boiler is descaled in March", "Priya repairs a kettle on Monday"]
    )
    assert asked @ near > 0.6 > abs(asked @ far) + 0.2


def test_no_texts_give_no_rows() -> None:
    """An empty batch keeps the number of columns."""
    assert DeterministicEmbedder(dimensions=8).embed([]).shape == (0, 8)


def test_dimensions_are_part_of_its_name() -> None:
    """Vectors of other dimensions are of another embedder."""
    assert DeterministicEmbedder(dimensions=8).embedder_id != DeterministicEmbedder().embedder_id
    with pytest.raises(ValueError, match="at least 1"):
        DeterministicEmbedder(dimensions=0)
