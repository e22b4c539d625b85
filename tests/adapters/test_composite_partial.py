"""What the model and the host are told of an answer that lacks a part."""

import json
from collections.abc import Mapping
from typing import Any

from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest
from tests.adapters.composite_parts import Scripted, composite


async def told(parts: Mapping[str, Any], query: str = "policy", **options: Any) -> tuple[dict[str, Any], Any]:
    """What the model is told through the whole gateway, and the response its host sees."""
    async with FrontendKnowledgeRuntime(composite(parts), cache_ttl_seconds=60.0, **options) as runtime:
        tool = KnowledgeTool(runtime)
        outcome = await tool.call({"query": query}, owner_id="ann", session_id="s", turn_id="t")
        return json.loads(outcome.output), outcome.response


async def test_the_model_is_told_that_a_result_is_partial() -> None:
    """The names of the parts that did not answer travel to the host and, in a sentence, to the model."""
    parts = {"wiki": Scripted("a"), "mail": Scripted(error=ProviderUnavailable("mail"))}
    output, response = await told(parts)
    assert output["status"] == "ok"
    assert output["partial"] == "Not searched: mail. Say that the answer may be incomplete."
    assert [entry["content"] for entry in output["results"]] == ["text of a"]
    assert response.partial == ("mail",)
    whole, response = await told({"wiki": Scripted("a"), "mail": Scripted("b")})
    assert "partial" not in whole
    assert response.partial == ()


async def test_nothing_found_in_a_part_of_the_whole_is_not_nothing() -> None:
    """The model may not say that there is no such thing while a part could not be searched."""
    output, response = await told({"wiki": Scripted(), "mail": Scripted(error=ProviderUnavailable("mail"))})
    assert (output["status"], output["retryable"]) == ("no_results", True)
    assert "mail could not be searched" in output["message"]
    assert response.partial == ("mail",)


async def test_a_partial_answer_is_not_kept_for_the_next_time() -> None:
    """Once the missing part is back, the same question has the whole answer."""
    mail = Scripted("b", error=ProviderUnavailable("mail"))
    async with FrontendKnowledgeRuntime(
        composite({"wiki": Scripted("a"), "mail": mail}), cache_ttl_seconds=60
    ) as runtime:
        first = await runtime.search("policy", owner_id="ann", session_id="s", turn_id="1")
        mail.error = None
        second = await runtime.search("policy", owner_id="ann", session_id="s", turn_id="2")
    assert (first.partial, len(first.results)) == (("mail",), 1)
    assert (second.partial, len(second.results)) == ((), 2)


async def test_names_of_parts_are_foreign_text_too() -> None:
    """They are cleaned and bounded like everything a provider says, and nonsense in their place is ignored."""

    class Loud(Scripted):
        def __init__(self, partial: Any) -> None:
            super().__init__("a")
            self.partial = partial

        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return {"results": [{"id": "a", "content": "a"}], "partial": self.partial}

    for partial, expected in (
        (["x\u202e" + "y" * 500] * 50, 1),
        ([f"part {n}" for n in range(50)], 8),
        ("mail", 0),
        ([None, 5, ""], 0),
        ({"mail": 1}, 0),
    ):
        async with FrontendKnowledgeRuntime(Loud(partial)) as runtime:
            response = await runtime.search("policy", owner_id="ann")
            assert len(response.partial) == expected
            assert all(len(name) <= 60 and "\u202e" not in name for name in response.partial)
            output = (
                await KnowledgeTool(runtime, budget_characters=800).call({"query": "policy"}, owner_id="ann")
            ).output
            assert len(output) <= 800
