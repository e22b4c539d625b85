"""Which shapes of an answer are read, and that any other is one typed error."""

from typing import Any

import numpy as np
import pytest

from gateway.normalization import NormalizedResults, normalize
from knowledge_provider import CitedResult, InvalidRetrievalResult, KnowledgeResponse, KnowledgeResult, Source
from tests.gateway.normalization.answers import hit, normalized, only, steady


@pytest.mark.parametrize(
    "answer",
    [
        [hit()],
        (hit(),),
        iter([hit()]),
        {"results": [hit()]},
        {"results": (hit(),), "took": 3},
        [KnowledgeResult(id="a", content="Text.")],
        [CitedResult(id="a", content="Text.", citation="source_9")],
        KnowledgeResponse(status="ok", query="q", results=(CitedResult(id="a", content="Text."),)),
    ],
    ids=["list", "tuple", "iterator", "object", "object with more", "our model", "cited", "response"],
)
def test_every_shape_of_the_contract_is_read(answer: object) -> None:
    """A list, an object with results, or our models: all give the same result."""
    assert normalize(answer, provider="p", top_k=5).results == (KnowledgeResult(id="a", content="Text."),)


async def _async_hits() -> Any:
    yield hit()


@pytest.mark.parametrize(
    "answer",
    [
        None, 0, 7.5, True, "text", b"bytes", bytearray(b"x"), {}, {"result": []}, {"results": None},
        {"results": "text"}, {"results": {"results": []}}, object(), KnowledgeResult(id="a", content="b"), Source(),
        _async_hits(), [1, 2], ["text"], [None], [[hit()]], {"results": [3]}, np.arange(3), lambda: None,
    ],
    ids=steady,
)  # fmt: skip
def test_anything_else_is_a_typed_error(answer: object) -> None:
    """A wrong answer is `knowledge_bad_response` with the provider's name, never a crash."""
    with pytest.raises(InvalidRetrievalResult, match="'p'") as caught:
        normalize(answer, provider="p", top_k=5)
    assert caught.value.code == "knowledge_bad_response"


def test_a_stray_item_does_not_cost_the_good_ones() -> None:
    """One wrong item among results is left out; only an answer of nothing else is an error."""
    assert [result.id for result in normalized(None, hit(), "text").results] == ["a"]


def test_an_empty_answer_is_no_error() -> None:
    """Nothing found is a normal answer."""
    assert normalized() == NormalizedResults((), frozenset(), 0)


def test_both_spellings_of_a_field_are_read() -> None:
    """`mimeType` of the wire and `mime_type` of Python mean the same."""
    assert only(source={"mimeType": "text/html"}).source.mime_type == "text/html"
    assert only(source={"mime_type": "text/html"}).source.mime_type == "text/html"
    assert only(source=Source(mime_type="text/html")).source.mime_type == "text/html"
