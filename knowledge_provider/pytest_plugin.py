"""A fixture for the test suites of provider authors, there wherever Earpiece is installed.

def test_my_provider(check_knowledge_provider):
    check_knowledge_provider(MyProvider)
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conformance import CheckResult, Conditions


@pytest.fixture
def check_knowledge_provider() -> "Callable[..., list[CheckResult]]":
    """Return a function that runs the conformance checks on a factory and fails the test with what is wrong."""
    from .conformance import run_checks

    def check(factory: Callable[[], Any], conditions: "Conditions | None" = None) -> "list[CheckResult]":
        __tracebackhide__ = True
        results = run_checks(factory, conditions)
        failed = [f"{result.name}: {result.sentence}" for result in results if not result.passed]
        if failed:
            pytest.fail("The provider does not conform.\n" + "\n".join(failed), pytrace=False)
        return results

    return check


__all__ = ["check_knowledge_provider"]
