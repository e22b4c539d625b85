"""Objects that run code of their own when they are read."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gateway.normalization import normalize
from knowledge_provider import InvalidRetrievalResult, KnowledgeResult
from tests.gateway.normalization.answers import hit, normalized, only


class _Raises(Exception):
    pass


class _HostileDict(dict[str, Any]):
    def get(self, *arguments: Any) -> Any:
        raise _Raises


class _HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise _Raises

    def __iter__(self) -> Iterator[str]:
        raise _Raises

    def __len__(self) -> int:
        raise _Raises


class _HostileIterable:
    def __iter__(self) -> Iterator[object]:
        raise _Raises


class _HostileModel(KnowledgeResult):
    @property
    def truncated(self) -> bool:
        raise _Raises


class _PretendsToBeText:
    __class__ = str  # type: ignore[assignment]


class _HostileText(str):
    def __len__(self) -> int:
        raise _Raises

    def strip(self, *arguments: Any) -> str:
        raise _Raises


class _HostileScore:
    def item(self) -> float:
        raise _Raises


class _Exits:
    def item(self) -> float:
        raise SystemExit(3)


def _raises_later() -> Iterator[dict[str, Any]]:
    yield hit()
    raise _Raises


def _refuses_to_close() -> Iterator[dict[str, Any]]:
    try:
        yield from (hit(str(n)) for n in itertools.count())
    except GeneratorExit:
        yield hit()


@pytest.mark.parametrize(
    "answer",
    [
        _HostileMapping(), {"results": _HostileMapping()}, _HostileIterable(), {"results": _HostileIterable()},
        [_HostileDict()], [_HostileMapping()], [_HostileModel(id="a", content="b")], [hit(id=_PretendsToBeText())],
        [hit(score=_HostileScore())], [hit(score=_Exits())], [hit(metadata=_HostileMapping())],
        [hit(metadata={"k": _HostileScore()})], [hit(source=_HostileDict())], _raises_later(),
    ],
    ids=lambda answer: type(answer).__name__,
)  # fmt: skip
def test_an_object_that_raises_when_it_is_read_is_a_typed_error(answer: object) -> None:
    """Foreign code runs when foreign objects are read; its errors stay behind the cause."""
    with pytest.raises(InvalidRetrievalResult) as caught:
        normalize(answer, provider="p", top_k=5)
    assert "_Raises" not in str(caught.value)


def test_a_generator_that_refuses_to_close_is_a_typed_error() -> None:
    """It cannot hold the gateway."""
    with pytest.raises(InvalidRetrievalResult):
        normalize(_refuses_to_close(), provider="p", top_k=5)


def test_a_text_with_methods_of_its_own_becomes_plain_text() -> None:
    """Nothing of a foreign class travels on."""
    result = only(content=_HostileText("Text."))
    assert type(result.content) is str
    assert result.content == "Text."


def test_a_structure_that_holds_itself_is_no_trouble() -> None:
    """Nothing is walked deeper than the contract goes."""
    loop: dict[str, Any] = hit()
    loop["metadata"] = loop
    loop["source"] = loop
    assert normalized(loop, [loop]).results[0].metadata == {"id": "a", "content": "Text."}


def test_a_user_interrupt_is_not_swallowed() -> None:
    """Ctrl-C is nobody's bad answer."""

    def interrupted() -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        normalize(interrupted(), provider="p", top_k=5)
