"""What counts as a credential in a URI; whole URIs are judged in test_citations.py, by the same table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.uri_credentials import carries_credentials

SECRETS = ("ghp_abcdefghijklmnopqrstuvwxyz0123", "AKIAABCDEFGHIJKLMNOP", "sk-abcdefghijklmnopqrstuvwxyz")
WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


@given(st.sampled_from(SECRETS), st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_a_secret_is_found_with_and_without_a_query(secret: str, folders: list[str], values: list[str]) -> None:
    """Where it stands, and what else the URI holds, changes nothing."""
    path = "".join(f"/{folder}" for folder in folders)
    query = "?" + "&".join(f"q={value}" for value in values) if values else ""
    assert carries_credentials(f"{path}/{secret}", query)
    assert carries_credentials(path, f"{query or '?'}&q={secret}")


@pytest.mark.parametrize("name", ["tempauth", "pw", "psw", "creds", "assertion", "token", "sig"])
@pytest.mark.parametrize("spelled", [str, str.upper, str.title, lambda name: f"x-{name}", lambda name: f"a[{name}]"])
def test_a_name_is_known_in_every_spelling(name: str, spelled: "type[str]") -> None:
    """Case, hyphens and brackets are how a framework writes it, not what it means."""
    assert carries_credentials("/a", f"?{spelled(name)}=v1.abc")


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_a_path_of_words_is_a_page(words: list[str]) -> None:
    """No word by itself is a credential, whatever it says."""
    assert not carries_credentials("".join(f"/{word}" for word in [*words, "password", "token", "auth"]), "")


@pytest.mark.parametrize(
    "hostile", ["sk-" + "a-" * 1000, "/a" * 1000, "=,~" * 600, "%25" * 600, "://a:" * 400, "Basic " * 300]
)
@pytest.mark.timeout(20)
def test_a_hostile_uri_does_not_hold_the_gateway(hostile: str) -> None:
    """As long as a URI may be, and made to make a pattern go back and forth."""
    carries_credentials("/" + hostile, "?" + hostile)
