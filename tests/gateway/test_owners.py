"""Tokens stand for owners, only their hashes are kept, and failures are counted."""

import json
import stat
from pathlib import Path

import pytest

from gateway.owners import FailureLimit, InvalidOwners, Owners, TokenFile, token_hash


def test_a_token_stands_for_its_owner_until_it_is_revoked(tmp_path: Path) -> None:
    """Revoking holds at once for a gateway that runs, without a restart."""
    file = TokenFile(tmp_path / "tokens.json")
    kept, secret = file.create("ana")
    owners = Owners(file=TokenFile(tmp_path / "tokens.json"))
    assert owners.owner_of(secret) == "ana"
    assert file.revoke(kept.id)
    assert owners.owner_of(secret) is None
    assert not file.revoke(kept.id)


def test_the_file_holds_no_token(tmp_path: Path) -> None:
    """Whoever reads the file can use nothing of it, and nobody else may read it."""
    path = tmp_path / "deep" / "tokens.json"
    kept, secret = TokenFile(path).create("ana")
    assert secret not in path.read_text()
    assert kept.hash in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in repr(kept)


def test_tokens_of_two_owners_are_told_apart(tmp_path: Path) -> None:
    """Adding a token leaves the others as they were."""
    file = TokenFile(tmp_path / "tokens.json")
    _, ana = file.create("ana")
    _, bo = file.create("bo@example.com")
    owners = Owners(file=file)
    assert (owners.owner_of(ana), owners.owner_of(bo)) == ("ana", "bo@example.com")


def test_hashes_may_come_from_the_environment() -> None:
    """A container needs no file: owner and hash stand in one variable."""
    owners = Owners(hashes=f"ana:{token_hash('ep_one')}, bo:{token_hash('ep_two')}")
    assert owners.owner_of("ep_two") == "bo"
    assert owners.owner_of("") is None
    assert owners.configured


@pytest.mark.parametrize("hashes", ["ana", "ana:secret", ":" + "0" * 64, "a b:" + "0" * 64])
def test_a_token_instead_of_its_hash_is_refused(hashes: str) -> None:
    """A secret that stands in the environment by mistake is not taken for a hash."""
    with pytest.raises(InvalidOwners, match="owner:sha256") as refusal:
        Owners(hashes=hashes)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("owner", ["", " ", "a\nb", "x" * 121, "../etc"])
def test_an_owner_has_a_plain_name(owner: str, tmp_path: Path) -> None:
    """Owners become part of keys and paths elsewhere."""
    with pytest.raises(InvalidOwners):
        TokenFile(tmp_path / "tokens.json").create(owner)


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"tokens": [{"id": "1"}]}), json.dumps({"tokens": 3})])
def test_a_broken_file_lets_nobody_in(text: str, tmp_path: Path) -> None:
    """A file that cannot be read is an error, not an empty list."""
    path = tmp_path / "tokens.json"
    path.write_text(text)
    with pytest.raises(InvalidOwners, match=r"tokens\.json"):
        TokenFile(path).tokens()


def test_a_named_file_that_is_missing_asks_for_tokens_all_the_same(tmp_path: Path) -> None:
    """Losing the file must not open the gateway."""
    owners = Owners(file=TokenFile(tmp_path / "gone.json"))
    assert owners.configured
    assert owners.empty
    assert owners.owner_of("ep_anything") is None


def test_failures_are_counted_for_each_address_within_a_minute() -> None:
    """Whoever fails too often waits; another address does not."""
    limit = FailureLimit(3)
    for moment in (0.0, 1.0, 2.0):
        assert not limit.exceeded("10.0.0.1", now=moment)
        limit.failed("10.0.0.1", now=moment)
    assert limit.exceeded("10.0.0.1", now=3.0)
    assert not limit.exceeded("10.0.0.2", now=3.0)
    assert not limit.exceeded("10.0.0.1", now=60.5)


def test_the_count_of_addresses_is_bounded() -> None:
    """An attacker with many addresses fills no memory."""
    limit = FailureLimit(1, capacity=2)
    for address in ("a", "b", "c"):
        limit.failed(address, now=0.0)
    assert [limit.exceeded(address, now=1.0) for address in ("a", "b", "c")] == [False, True, True]
