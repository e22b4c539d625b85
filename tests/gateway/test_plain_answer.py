"""Only built-in values and our own models are read on the event loop."""

import datetime
from collections import OrderedDict, UserDict
from typing import Any

import numpy as np
import pytest

from gateway.plain_answer import is_plain
from knowledge_provider import KnowledgeResult

PASSAGE: dict[str, Any] = {"id": "a", "content": "Text.", "score": 0.5, "source": {"title": "T"}, "metadata": {"a": 1}}


@pytest.mark.parametrize(
    "answer",
    [[], [PASSAGE] * 8, {"results": [PASSAGE]}, (PASSAGE,), [KnowledgeResult(id="a", content="b")], None, "text"],
    ids=["empty", "eight", "wrapped", "tuple", "our model", "none", "text"],
)
def test_ordinary_answers_are_plain(answer: object) -> None:
    """They cost no thread."""
    assert is_plain(answer)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "answer",
    [
        (item for item in [PASSAGE]),
        [OrderedDict(PASSAGE)],
        [UserDict(PASSAGE)],
        [PASSAGE | {"content": Text("derived")}],
        [PASSAGE | {"score": np.float32(1)}],
        [PASSAGE | {"metadata": {"day": datetime.date(2026, 1, 1)}}],
        {"results": iter([PASSAGE])},
    ],
    ids=["generator", "ordered", "user dict", "derived text", "numpy", "date", "wrapped iterator"],
)
def test_whatever_may_run_foreign_code_is_not(answer: object) -> None:
    """Derived types may do anything when they are read."""
    assert not is_plain(answer)


def test_an_answer_that_contains_itself_ends() -> None:
    """Looking is bounded whatever the shape."""
    around: list[Any] = []
    around.extend([around] * 64)
    assert not is_plain(around)
