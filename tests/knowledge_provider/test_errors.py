"""Every error has a stable code, says whether trying again may help, and is drawn in the module's tree."""

import inspect

import pytest

import knowledge_provider.errors as errors
from knowledge_provider import (
    KnowledgeError,
    ProtocolVersionMismatch,
    ProviderRateLimited,
    ProviderUnavailable,
    RetrievalError,
    RetrievalTimedOut,
    UnknownKnowledgeBase,
)

CLASSES = [member for _, member in inspect.getmembers(errors, inspect.isclass) if issubclass(member, KnowledgeError)]
RETRIEVAL = [error for error in CLASSES if issubclass(error, RetrievalError) and error is not RetrievalError]


def test_every_class_is_drawn_and_exported() -> None:
    """The tree at the top of the module is the whole truth."""
    drawing = inspect.getdoc(errors) or ""
    assert {error.__name__ for error in CLASSES if error.__name__ not in drawing} == set()
    assert set(errors.__all__) == {error.__name__ for error in CLASSES}


def test_codes_are_distinct() -> None:
    """A client can tell every error from every other."""
    codes = [error.code for error in CLASSES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("error", RETRIEVAL, ids=lambda error: error.__name__)
def test_the_drawing_says_the_code_and_whether_to_retry(error: type[KnowledgeError]) -> None:
    """Code and retryable, as drawn, are the class's own."""
    (line,) = [line for line in (errors.__doc__ or "").splitlines() if f"─ {error.__name__} " in line]
    assert error.code in line.split()
    assert error.retryable is ("retryable" in line)


def test_sentences_say_what_happened_to_whom_and_what_to_do() -> None:
    """The developer's sentence is composed from named facts."""
    assert str(ProtocolVersionMismatch("search", expected=1, found=2)) == (
        "Provider 'search' speaks protocol 2; this gateway speaks 1. Update one of the two."
    )
    assert str(RetrievalTimedOut("search", timeout_seconds=2.5)) == "Provider 'search' did not answer within 2.5 s."
    assert str(ProviderRateLimited("search", retry_after_seconds=1)) == (
        "Provider 'search' is rate limited. Try again in 1.0 s."
    )
    assert str(UnknownKnowledgeBase(["hr"])).startswith("Not among the disclosed knowledge bases: 'hr'.")


def test_facts_are_attributes() -> None:
    """Code that handles an error reads no sentences."""
    error = ProviderUnavailable("search", retry_after_seconds=3)
    assert (error.provider, error.retry_after_seconds, error.retryable) == ("search", 3, True)
