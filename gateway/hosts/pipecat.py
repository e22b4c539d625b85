"""The knowledge tool for Pipecat: a function schema that brings its handler, for the context of any LLM service.

Pipecat cancels the handler when the user interrupts, and that cancels the retrieval. The handler reports one result.
"""

import json
from typing import TYPE_CHECKING

from knowledge_provider import PERSONAL_OWNER

from ..knowledge_tool import KnowledgeTool
from .missing_package import installed
from .plain import KnowledgeConversation, citations_message

if TYPE_CHECKING:
    from pipecat.adapters.schemas.function_schema import FunctionSchema
    from pipecat.services.llm_service import FunctionCallParams


def knowledge_function(
    tool: KnowledgeTool, *, owner_id: str = PERSONAL_OWNER, session_id: str = ""
) -> "FunctionSchema | None":
    """Return the schema for ``LLMContext(tools=ToolsSchema([...]))``, or None without a provider. One a conversation.

    Citations travel as an ``OutputTransportMessageUrgentFrame`` ahead of the answer, so that the transport delivers
    them to the client and nobody reads them aloud. Raises `MissingHostPackage`.
    """
    with installed("Pipecat", "pipecat"):
        from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
        from pipecat.frames.frames import OutputTransportMessageUrgentFrame

    conversation = KnowledgeConversation(tool, owner_id=owner_id, session_id=session_id)
    definition = conversation.definition
    if definition is None:
        return None

    async def handler(params: "FunctionCallParams") -> None:
        outcome = await conversation.call(params.arguments, turn_id=_turn_id(params))
        if outcome.citations:
            await params.llm.push_frame(OutputTransportMessageUrgentFrame(citations_message(outcome.citations)))
        # Pipecat encodes the result as JSON itself; our text would reach the model encoded twice.
        await params.result_callback(json.loads(outcome.output))

    schema = definition["parameters"]
    return FunctionSchema(
        definition["name"], definition["description"], schema["properties"], schema["required"], handler=handler
    )


def _turn_id(params: "FunctionCallParams") -> str:
    # Pipecat has no id for a turn, but its context shows where one ends: with words of the user, or, since a
    # speech-to-speech service may transcribe nobody, with words of the assistant.
    return f"turn_{sum(_ends_turn(message) for message in params.context.messages)}"


def _ends_turn(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    said = message.get("role") == "assistant" and message.get("content") and not message.get("tool_calls")
    return message.get("role") == "user" or bool(said)


__all__ = ["knowledge_function"]
