"""What a model writes is read where it is certain, and refused with one sentence where it is not."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.tool_arguments import Proposal, UnreadableArguments, proposal_from

DISCLOSED = ("eng", "hr")


def read(arguments: Any) -> Proposal:
    return proposal_from(arguments, DISCLOSED)


@pytest.mark.parametrize(
    ("arguments", "proposal"),
    [
        ('{"query": "release policy"}', Proposal("release policy")),
        ({"query": "release policy"}, Proposal("release policy")),
        ('{"query": " release policy\\n"}', Proposal("release policy")),
        (json.dumps('{"query": "release policy"}'), Proposal("release policy")),
        (json.dumps(json.dumps({"query": "release policy"})), Proposal("release policy")),
        ('{"query": "release policy"}<|im_end|>', Proposal("release policy")),
        ('<|tool_call|>{"query": "release policy"}</s>', Proposal("release policy")),
        ('<tool_call>\n{"query": "release policy"}\n</tool_call>', Proposal("release policy")),
        ('```json\n{"query": "release policy"}\n```', Proposal("release policy")),
        ('{"query": "release policy<|im_end|>"}', Proposal("release policy")),
        ('{"query": "<|\\"|>release policy<|\\"|>"}', Proposal("release policy")),
        ('{"query": <|"|>release policy<|"|>}', Proposal("release policy")),
        ('{"name": "knowledge", "arguments": {"query": "release policy"}}', Proposal("release policy")),
        ('{"name": "knowledge", "arguments": "{\\"query\\": \\"release policy\\"}"}', Proposal("release policy")),
        ('{"query": "a", "top_k": 3}', Proposal("a", 3)),
        ('{"query": "a", "topK": 3}', Proposal("a", 3)),
        ('{"query": "a", "top_k": "3"}', Proposal("a", 3)),
        ('{"query": "a", "top_k": 3.0}', Proposal("a", 3)),
        ('{"query": "a", "top_k": null}', Proposal("a")),
        ('{"query": "a", "top_k": 50}', Proposal("a", 8)),
        ('{"query": "a", "top_k": 0}', Proposal("a", 1)),
        ('{"query": "a", "top_k": -5}', Proposal("a", 1)),
        ('{"query": "a", "knowledge_base_ids": ["eng"]}', Proposal("a", 5, ("eng",))),
        ('{"query": "a", "knowledgeBaseIds": ["eng", "hr", "eng"]}', Proposal("a", 5, ("eng", "hr"))),
        ('{"query": "a", "knowledge_base_ids": "eng"}', Proposal("a", 5, ("eng",))),
        ('{"query": "a", "knowledge_base_ids": "[\\"eng\\"]"}', Proposal("a", 5, ("eng",))),
        ('{"query": "a", "knowledge_base_ids": []}', Proposal("a")),
        ('{"query": "a", "knowledge_base_ids": ""}', Proposal("a")),
        ('{"query": "a", "knowledge_base_ids": null}', Proposal("a")),
        ('{"query": "a", "ownerId": "ben", "filters": {"x": 1}, "context": {}, "lang": "en"}', Proposal("a")),
        ('{"query": "报销款多久到账？"}', Proposal("报销款多久到账？")),
        ('{"query": "is 1 < 2 </s> or not"}', Proposal("is 1 < 2 </s> or not")),
        # said twice, and the same both times
        ('{"query": "a", "query": "a"}', Proposal("a")),
        ('{"query": "a", "top_k": 3, "topK": 3}', Proposal("a", 3)),
        ('{"query": "a", "arguments": {"query": "a"}}', Proposal("a")),
        ('{"query": "a", "arguments": "a text"}', Proposal("a")),
        # a contradiction in what is ignored anyway
        ('{"query": "a", "lang": "en", "lang": "de"}', Proposal("a")),
        ('{"query": "a", "filters": {"x": 1, "x": 2}}', Proposal("a")),
    ],
)
def test_what_is_certain_is_read(arguments: Any, proposal: Proposal) -> None:
    """Double encoding, numbers as text, template tokens, wrappers and unknown keys are common and harmless."""
    assert read(arguments) == proposal


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (None, "no JSON object"),
        (7, "no JSON object"),
        ([], "no JSON object"),
        ([{"query": "a"}], "no JSON object"),
        ("null", "no JSON object"),
        ("42", "no JSON object"),
        ('[{"query": "a"}]', "no JSON object"),
        ("", "not complete JSON"),
        ("   ", "not complete JSON"),
        ("<|im_end|>", "not complete JSON"),
        ("{", "not complete JSON"),
        ('{"query": "release pol', "not complete JSON"),
        ('{"query": "a"', "not complete JSON"),
        ('{"query": "a"}{"query": "b"}', "not complete JSON"),
        ("release policy", "not complete JSON"),
        ("{'query': 'a'}", "not complete JSON"),
        ('"release policy"', "not complete JSON"),
        ("[" * 5000, "not complete JSON"),
        ("{}", "query is missing"),
        ('{"q": "a"}', "query is missing"),
        ('{"query": null}', "query is missing"),
        ('{"query": 7}', "query is missing"),
        ('{"query": ["a"]}', "query is missing"),
        ('{"query": {"text": "a"}}', "query is missing"),
        ('{"query": ""}', "query is empty"),
        ('{"query": " \\n"}', "query is empty"),
        ('{"query": "\\u200b\\ud800"}', "query is empty"),
        ('{"query": "<|im_end|>"}', "query is empty"),
        ({"query": "a" * 501}, "at most 500 characters"),
        ({"query": "a" * 10_000_000}, "at most 500 characters"),
        ('{"query": "' + "a" * 10_000_000 + '"}', "too long"),
        ('{"query": "a", "top_k": "many"}', "top_k is no whole number"),
        ('{"query": "a", "top_k": "3.5"}', "top_k is no whole number"),
        ('{"query": "a", "top_k": 3.5}', "top_k is no whole number"),
        ('{"query": "a", "top_k": true}', "top_k is no whole number"),
        ('{"query": "a", "top_k": NaN}', "top_k is no whole number"),
        ('{"query": "a", "top_k": Infinity}', "top_k is no whole number"),
        ('{"query": "a", "top_k": [3]}', "top_k is no whole number"),
        ('{"query": "a", "top_k": ' + "9" * 6000 + "}", "not complete JSON"),
        ('{"query": "a", "knowledge_base_ids": ["finance"]}', "unknown id"),
        ('{"query": "a", "knowledge_base_ids": ["eng", "finance"]}', "unknown id"),
        ('{"query": "a", "knowledge_base_ids": "finance"}', "unknown id"),
        ('{"query": "a", "knowledge_base_ids": "[half"}', "unknown id"),
        ('{"query": "a", "knowledge_base_ids": [7]}', "no list of ids"),
        ('{"query": "a", "knowledge_base_ids": {"id": "eng"}}', "no list of ids"),
        ('{"query": "a", "knowledge_base_ids": 7}', "no list of ids"),
        # said twice, and differently
        ('{"query": "r", "query": "s"}', "query is given twice"),
        ('{"query": "r", "query": "r", "query": "s"}', "query is given twice"),
        ('{"query": "r", "query": null}', "query is given twice"),
        ('{"query": "", "query": "s"}', "query is given twice"),
        ('{"query": "r", "qu\\u0065ry": "s"}', "query is given twice"),
        (json.dumps('{"query": "r", "query": "s"}'), "query is given twice"),
        ('{"query": "r", "query": "s"}<|im_end|>', "query is given twice"),
        ('{"arguments": {"query": "r", "query": "s"}}', "query is given twice"),
        ('{"arguments": "{\\"query\\": \\"r\\", \\"query\\": \\"s\\"}"}', "query is given twice"),
        ('{"arguments": {"query": "r"}, "arguments": {"query": "s"}}', "query is missing"),
        ('{"query": "r", "arguments": {"query": "s"}}', "query is given twice"),
        ('{"query": "r", "arguments": "{\\"query\\": \\"s\\"}"}', "query is given twice"),
        ('{"query": "a", "top_k": 3, "top_k": 5}', "top_k is given twice"),
        ('{"query": "a", "top_k": 1, "top_k": true}', "top_k is given twice"),
        ('{"query": "a", "top_k": 3, "topK": 5}', "top_k is given twice"),
        ({"query": "a", "top_k": 3, "topK": 5}, "top_k is given twice"),
        (
            '{"query": "a", "knowledge_base_ids": ["eng"], "knowledge_base_ids": ["hr"]}',
            "knowledge_base_ids is given twice",
        ),
        (
            '{"query": "a", "knowledge_base_ids": ["eng"], "knowledgeBaseIds": ["hr"]}',
            "knowledge_base_ids is given twice",
        ),
    ],
)
def test_the_rest_is_refused_with_one_sentence_on_what_to_send(arguments: Any, says: str) -> None:
    """Nothing uncertain runs, least of all as an empty query; what to send is said, what came is not repeated."""
    with pytest.raises(UnreadableArguments) as caught:
        read(arguments)
    assert says in str(caught.value)
    assert "Send" in str(caught.value) or "leave them out" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_without_disclosed_knowledge_bases_every_id_is_unknown() -> None:
    """A model cannot guess its way into a knowledge base."""
    with pytest.raises(UnreadableArguments, match="Leave them out"):
        proposal_from('{"query": "a", "knowledge_base_ids": ["eng"]}', ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LIKELY = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | st.text() for name in ("query", "top_k", "topK", "knowledge_base_ids", "arguments", "ownerId")
    },
)


@given(
    st.text() | JSON | LIKELY | JSON.map(json.dumps) | LIKELY.map(json.dumps) | LIKELY.map(json.dumps).map(json.dumps)
)
def test_any_arguments_become_a_bounded_proposal_or_a_refusal(arguments: Any) -> None:
    """No exception but the typed one, and all bounds kept."""
    try:
        proposal = read(arguments)
    except UnreadableArguments:
        return
    assert 1 <= len(proposal.query) <= 500
    assert proposal.query == proposal.query.strip()
    assert 1 <= proposal.top_k <= 8
    assert set(proposal.knowledge_base_ids) <= set(DISCLOSED)


@given(st.sampled_from(["query", "top_k", "knowledge_base_ids"]), JSON, JSON)
def test_a_name_with_two_values_is_never_read_as_one_of_them(name: str, first: Any, second: Any) -> None:
    """Which of two was meant is not certain, whatever the two are."""
    assume(json.dumps(first) != json.dumps(second))
    fields = [("query", "a"), (name, first), (name, second)]
    with pytest.raises(UnreadableArguments, match="given twice"):
        read("{" + ", ".join(f'"{key}": {json.dumps(value)}' for key, value in fields) + "}")


@given(st.text())
def test_cutting_a_good_text_anywhere_never_reads_something_else(query: str) -> None:
    """Half a JSON text is half a question."""
    whole = json.dumps({"query": query, "top_k": 3})
    for end in range(len(whole) - 1):
        with pytest.raises(UnreadableArguments):
            read(whole[:end])
