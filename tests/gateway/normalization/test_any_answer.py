"""Whatever a provider answers becomes bounded results, or one typed error."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.normalization import NormalizedResults, normalize
from knowledge_provider import InvalidRetrievalResult
from tests.gateway.normalization.answers import keeps_all_bounds

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=5)
JSON_LIKE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)
LONG_TEXTS = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 30, 300]))
SOURCES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "title", "uri", "mimeType", "mime_type", "locator"), LONG_TEXTS | LEAVES)
)
HITS = st.fixed_dictionaries(
    {},
    optional={
        "id": LONG_TEXTS | st.sampled_from("abc"),
        "content": LONG_TEXTS | st.just("Text."),
        "score": LEAVES,
        "source": SOURCES | JSON_LIKE,
        "metadata": st.dictionaries(TEXTS, JSON_LIKE) | JSON_LIKE,
        "truncated": LEAVES,
    },
)
ANSWERS = (
    JSON_LIKE
    | st.lists(HITS | JSON_LIKE, max_size=12)
    | st.builds(lambda hits: {"results": hits}, st.lists(HITS, max_size=12))
)


@settings(max_examples=300)
@given(ANSWERS, st.integers(1, 8))
def test_any_answer_gives_bounded_results_or_the_typed_error(answer: object, top_k: int) -> None:
    """All bounds hold for every JSON-like value, and normalizing twice changes nothing."""
    try:
        outcome = normalize(answer, provider="p", top_k=top_k)
    except InvalidRetrievalResult:
        return
    assert keeps_all_bounds(outcome, top_k)
    again = normalize(list(outcome.results), provider="p", top_k=top_k)
    assert again == NormalizedResults(outcome.results, frozenset(), 0)
    as_wire = [result.model_dump(by_alias=True) for result in outcome.results]
    assert normalize({"results": as_wire}, provider="p", top_k=top_k) == again
