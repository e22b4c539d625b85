"""The handler for anyone's own loop."""

import asyncio
import json

from gateway import KnowledgeTool
from gateway.hosts.plain import KnowledgeConversation
from tests.gateway.hosts.held_provider import HeldProvider

QUERY = {"query": "How many reviewers?"}


async def test_a_call_is_answered_for_the_conversations_owner(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """The owner is the host's word; a model that writes one is not heard."""
    conversation = KnowledgeConversation(tool, owner_id="ada", session_id="s1")
    outcome = await conversation.call({**QUERY, "owner_id": "eve"})
    assert outcome.status == "ok"
    assert "Two reviewers, ada." in outcome.output
    assert provider.asked[0][1].owner_id == "ada"
    assert provider.asked[0][1].session_id == "s1"


async def test_an_interruption_ends_and_settles_the_call(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """The provider hears of it, and the call has an output that is no answer."""
    provider.hold()
    conversation = KnowledgeConversation(tool)
    call = asyncio.create_task(conversation.call(QUERY))
    async with asyncio.timeout(5):
        await provider.entered.wait()
        conversation.interrupt()
        outcome = await call
        await provider.cancelled.wait()
    assert outcome.status == "superseded"
    assert json.loads(outcome.output)["status"] == "superseded"
    assert not outcome.citations


async def test_a_cancelled_caller_cancels_the_retrieval(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """Cancellation passes through and is never turned into a result."""
    provider.hold()
    call = asyncio.create_task(KnowledgeConversation(tool).call(QUERY))
    async with asyncio.timeout(5):
        await provider.entered.wait()
        call.cancel()
        await asyncio.wait([call])
        await provider.cancelled.wait()
    assert call.cancelled()


async def test_a_new_turn_may_ask_again(tool: KnowledgeTool, provider: HeldProvider) -> None:
    """Within a turn the same question is answered as repeated; in the next turn it is a question again."""
    conversation = KnowledgeConversation(tool)
    assert (await conversation.call(QUERY)).status == "ok"
    assert (await conversation.call(QUERY)).status == "repeated"
    conversation.new_turn()
    assert (await conversation.call(QUERY)).status == "ok"
    assert len(provider.asked) == 2


async def test_two_conversations_share_no_turn(tool: KnowledgeTool) -> None:
    """Each conversation counts its own turns, also without a session id."""
    assert (await KnowledgeConversation(tool).call(QUERY)).status == "ok"
    assert (await KnowledgeConversation(tool).call(QUERY)).status == "ok"


async def test_without_a_provider_no_tool_is_offered(empty_tool: KnowledgeTool) -> None:
    """A host offers what there is."""
    assert KnowledgeConversation(empty_tool).definition is None


async def test_what_the_user_says_is_looked_up_before_the_model_asks(
    tool: KnowledgeTool, provider: HeldProvider
) -> None:
    """A host that has transcripts hides the retrieval behind the speech; the call adopts it."""
    conversation = KnowledgeConversation(tool, owner_id="ada")
    conversation.heard("how many reviewers ")
    conversation.heard("does every release need")
    conversation.finished()
    async with asyncio.timeout(5):
        await provider.entered.wait()
        outcome = await conversation.call({"query": "number of reviewers every release needs"})
    assert outcome.status == "ok"
    assert [request.query for request, _ in provider.asked] == ["how many reviewers does every release need"]
    conversation.close()


async def test_a_closed_conversation_looks_nothing_up(tool: KnowledgeTool) -> None:
    """What comes after the end is not heard."""
    conversation = KnowledgeConversation(tool, owner_id="ada", session_id="s1")
    conversation.heard("how many reviewers does")
    conversation.close()
    conversation.finished("how many reviewers does every release need")
    assert tool.runtime.prefetch_counts("ada", "s1").started == 0
