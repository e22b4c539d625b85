"""Every promise on the contract's page names a test that exists."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.guard

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", (ROOT / "docs" / "contract.md").read_text())


def test_the_page_names_tests() -> None:
    """An empty table would promise nothing."""
    assert len(NAMED) >= 20


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_promise_has_its_test(file: str, test: str) -> None:
    """A promise whose test is renamed or gone is no promise."""
    assert f"def {test}(" in (ROOT / file).read_text()
