"""The knowledge tool for LiveKit Agents: a function tool for ``Agent(tools=[...])`` or a realtime model.

LiveKit waits for running tools when the user interrupts. This one ends at once when its speech is interrupted, and its
retrieval is cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from knowledge_provider import PERSONAL_OWNER, Citation

from ..knowledge_tool import KnowledgeTool, ToolOutcome
from .missing_package import installed
from .plain import KnowledgeConversation, superseded

if TYPE_CHECKING:
    from livekit.agents.llm import RawFunctionTool
    from livekit.agents.voice import SpeechHandle

ShowCitations = Callable[[tuple[Citation, ...]], Awaitable[None]]


def knowledge_tools(
    tool: KnowledgeTool,
    *,
    owner_id: str = PERSONAL_OWNER,
    session_id: str = "",
    show_citations: ShowCitations | None = None,
) -> "list[RawFunctionTool[Any, Any]]":
    """Return what to add to ``Agent(tools=[...])``: one function tool, or none without a provider. One a conversation.

    ``show_citations`` is awaited with the links of an answer before the model has it, for example to send them to the
    room as a text stream. Raises `MissingHostPackage`.
    """
    with installed("LiveKit Agents", "livekit"):
        from livekit.agents import RunContext, function_tool

    conversation = KnowledgeConversation(tool, owner_id=owner_id, session_id=session_id)
    definition = conversation.definition
    if definition is None:
        return []

    async def knowledge(raw_arguments: dict[str, object], context: RunContext[Any]) -> str:
        outcome = await _unless_interrupted(conversation, raw_arguments, context.speech_handle)
        if outcome.citations and show_citations is not None:
            await show_citations(outcome.citations)
        return outcome.output

    schema = {name: definition[name] for name in ("name", "description", "parameters")}
    return [function_tool(knowledge, raw_schema=schema)]


async def _unless_interrupted(
    conversation: KnowledgeConversation, arguments: dict[str, object], speech: "SpeechHandle"
) -> ToolOutcome:
    # A speech and the answers that follow its tool calls share one handle: that is a turn.
    call = asyncio.create_task(conversation.call(arguments, turn_id=speech.id))
    try:
        await speech.wait_if_not_interrupted([call])
    finally:
        if not call.done():
            call.cancel()
    return call.result() if call.done() else superseded()


__all__ = ["knowledge_tools"]
