"""``earpiece token`` as a person uses it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.owners import TokenFile
from gateway.token_commands import token


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EARPIECE_TOKENS_FILE", str(tmp_path / "tokens.json"))
    return tmp_path / "tokens.json"


def test_create_prints_the_token_once_and_list_never_does(path: Path) -> None:
    """Standard output holds the token alone, so that a script can take it."""
    created = CliRunner().invoke(token, ["create", "ana"])
    secret = created.stdout.strip()
    assert created.exit_code == 0
    assert secret.startswith("ep_")
    assert "EARPIECE_TOKENS_FILE" in created.stderr
    listed = CliRunner().invoke(token, ["list"])
    assert "ana" in listed.stdout
    assert secret not in listed.output


def test_revoke_removes_a_token_and_says_when_there_is_none(path: Path) -> None:
    """A wrong id is one clear line and a failing exit status."""
    kept, _ = TokenFile(path).create("ana")
    assert CliRunner().invoke(token, ["revoke", kept.id]).exit_code == 0
    again = CliRunner().invoke(token, ["revoke", kept.id])
    assert again.exit_code == 1
    assert kept.id in again.output


def test_a_broken_file_is_one_clear_line(path: Path) -> None:
    """No traceback for a person who looks at a damaged file."""
    path.write_text("{")
    for command in (["list"], ["create", "ana"], ["revoke", "1"]):
        result = CliRunner().invoke(token, command)
        assert result.exit_code == 1
        assert "cannot be read" in result.output
