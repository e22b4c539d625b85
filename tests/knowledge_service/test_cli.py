"""The commands that an operator types, over a real service file."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from knowledge_service import InvalidSource, SourceVersionConflict, UnknownSource
from knowledge_service.cli import audit, source, sync
from knowledge_service.configuration import load_settings

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples/help_desk"
DRAFTS = """
id: drafts
label: Drafts
adapter: main
version: {version}
audience: ["role:support"]
source: {{kind: object, object: kb_article, contentFields: [title, body], where: {{status: draft}}}}
"""


Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLE / "knowledge.yaml", tmp_path)
    with closing(sqlite3.connect(tmp_path / "desk.sqlite")) as database:
        database.executescript((EXAMPLE / "desk.sql").read_text())
    return tmp_path


@pytest.fixture
def run(home: Path) -> Run:
    def run(group: click.Group, *arguments: str, **options: Any) -> Result:
        command = [*arguments, "--config", str(home / "knowledge.yaml")]
        return CliRunner().invoke(group, command, catch_exceptions=False, **options)

    return run


def test_a_source_is_added_indexed_listed_and_removed(home: Path, run: Run) -> None:
    """The life of a source, each step one command."""
    (home / "drafts.yaml").write_text(DRAFTS.format(version=1))
    assert "drafts: version 1 is registered" in run(source, "add", str(home / "drafts.yaml")).output
    assert "2 would be added" in run(source, "reindex", "drafts", "--dry-run").stdout
    assert "drafts: 2 read; 2 were added, 0 changed, 0 removed" in run(source, "reindex", "drafts").stdout
    listed = run(source, "list").stdout
    assert "drafts\tobject\tmain\tv1\t2 documents\tDrafts" in listed
    assert "articles\tobject\tmain\tv1\t0 documents" in listed
    assert '"audience": [' in run(source, "show", "drafts").stdout
    assert "removed with 2 documents" in run(source, "remove", "drafts").stdout
    assert "drafts" not in run(source, "list").stdout


def test_a_limited_reindex_says_that_it_is_not_done(run: Run) -> None:
    """Nothing is removed until all was read."""
    assert "Run it again to go on" in run(source, "reindex", "articles", "--limit", "2").stdout
    assert "articles: 4 read" in run(source, "reindex", "articles").stdout


def test_a_changed_source_needs_a_higher_version(home: Path, run: Run) -> None:
    """Also across two runs of the command."""
    (home / "drafts.yaml").write_text(DRAFTS.format(version=1))
    run(source, "add", str(home / "drafts.yaml"))
    (home / "drafts.yaml").write_text(DRAFTS.format(version=1).replace("Drafts", "Other"))
    with pytest.raises(SourceVersionConflict):
        run(source, "add", str(home / "drafts.yaml"))
    (home / "drafts.yaml").write_text(DRAFTS.format(version=2).replace("Drafts", "Other"))
    assert "version 2" in run(source, "add", str(home / "drafts.yaml")).output


def test_a_source_of_the_file_is_removed_in_the_file(run: Run) -> None:
    """The next start would bring it back."""
    with pytest.raises(InvalidSource, match=r"is declared in knowledge\.yaml"):
        run(source, "remove", "articles")
    with pytest.raises(UnknownSource):
        run(source, "remove", "nowhere")


def test_what_waits_is_shown_and_delivered(home: Path, run: Run) -> None:
    """A write by other means is seen as waiting, and delivered by hand."""
    assert "0 waiting" in run(sync, "status").stdout
    with closing(sqlite3.connect(home / "desk.sqlite")) as database, database:
        database.execute("update kb_article set body = 'Refunds take a day.' where id = 1")
        database.execute(
            "insert into knowledge_outbox (object, record_id, created_at, dead, attempts, code)"
            " values ('kb_article', '3', 0, 1, 8, 'knowledge_index_failed')"
        )
    status = run(sync, "status").stdout
    assert "1 waiting" in status
    assert "kb_article 3: knowledge_index_failed after 8 attempts" in status
    assert "1 dead letters replayed, 2 records taken up" in run(sync, "retry").stdout
    assert "0 waiting (the oldest for 0 s), 0 dead" in run(sync, "status").stdout


def test_the_audit_log_is_shown_and_verified(home: Path, run: Run) -> None:
    """A head noted earlier proves that nothing was cut off since."""
    run(source, "reindex", "articles")
    assert "Indexed" in run(audit, "show").stdout
    head = run(audit, "verify").stdout.split()[-1]
    assert "The log is whole" in run(audit, "verify", "--head", head).stdout
    assert run(audit, "verify", "--head", "no").exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("database:", "databse:", "'database' is wrong"),
        ("readable:", "readible:", "readible"),
        ("  main: {type: library, store: index}", "  main: {type: library}", "needs the key 'store'"),
        ("callers:", "unknown: 1\ncallers:", "'unknown' is wrong"),
    ],
)
def test_a_wrong_service_file_names_its_key(home: Path, run: Run, old: str, new: str, said: str) -> None:
    """One sentence, before anything is opened or written."""
    path = home / "knowledge.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InvalidSource, match=said):
        run(source, "list")


WITHOUT_EXTRA = """
import sys
for name in ("sqlalchemy", "aiosqlite", "yaml", "asyncpg", "httpx2"):
    sys.modules[name] = None
import knowledge_service
from knowledge_service.cli import source
source(["list", "--config", sys.argv[1]])
"""


def test_without_the_extra_the_commands_say_what_to_install(home: Path) -> None:
    """The command line of a plain installation lists these commands, and must not break over them."""
    command = [sys.executable, "-c", WITHOUT_EXTRA, str(home / "knowledge.yaml")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 1
    assert "Install it with: pip install 'earpiece[service]'" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_the_example_is_a_good_service_file() -> None:
    """What the documentation shows can be loaded."""
    assert load_settings(EXAMPLE / "knowledge.yaml").callers["sam"].roles == {"support"}
