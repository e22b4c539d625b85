"""The knowledge tool for the OpenAI Agents SDK: for a `RealtimeAgent` and for text agents.

A realtime session says that it was interrupted and lets its tools run on. `follow` listens to that, and to who begins
to speak: then lookups end at once, and the turn is a new one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from knowledge_provider import PERSONAL_OWNER, Citation

from ..knowledge_tool import KnowledgeTool
from .missing_package import installed
from .plain import KnowledgeConversation

if TYPE_CHECKING:
    from agents import FunctionTool
    from agents.realtime import RealtimeSession
    from agents.realtime.model_events import RealtimeModelEvent
    from agents.tool_context import ToolContext


class AgentKnowledge:
    """The tool of one conversation. ``show_citations`` is called with the links that go with an answer."""

    def __init__(
        self,
        tool: KnowledgeTool,
        *,
        owner_id: str = PERSONAL_OWNER,
        session_id: str = "",
        show_citations: Callable[[tuple[Citation, ...]], object] | None = None,
    ) -> None:
        self._conversation = KnowledgeConversation(tool, owner_id=owner_id, session_id=session_id)
        self._show_citations = show_citations
        self._items: set[str] = set()

    @property
    def tools(self) -> "list[FunctionTool]":
        """What to add to the tools of a `RealtimeAgent` or an `Agent`: one tool, or none without a provider.

        Raises `MissingHostPackage`.
        """
        with installed("the OpenAI Agents SDK", "agents"):
            from agents import FunctionTool

        definition = self._conversation.definition
        if definition is None:
            return []
        # Strict schemas make every parameter required, and models then invent the ones they do not need.
        return [
            FunctionTool(
                definition["name"],
                definition["description"],
                definition["parameters"],
                self._invoke,
                strict_json_schema=False,
            )
        ]

    def new_turn(self) -> None:
        """Say so before each ``Runner.run`` of a text agent; a realtime session says it itself, through `follow`."""
        self._conversation.new_turn()

    def follow(self, session: "RealtimeSession") -> None:
        """Hear from a realtime session when the user speaks and when an answer is interrupted."""
        from agents.realtime.model import RealtimeModelListener

        class Listener(RealtimeModelListener):
            async def on_event(listener, event: "RealtimeModelEvent") -> None:
                self._take(event)

        session.model.add_listener(Listener())

    def _take(self, event: "RealtimeModelEvent") -> None:
        if event.type == "audio_interrupted" or (event.type == "raw_server_event" and _speech_started(event.data)):
            self._conversation.interrupt()
        elif event.type == "item_updated" and getattr(event.item, "role", None) == "user":
            self._heard(event.item.item_id)

    def _heard(self, item_id: str) -> None:
        if item_id not in self._items:
            self._items.add(item_id)
            self._conversation.new_turn()

    async def _invoke(self, context: "ToolContext[Any]", arguments: str) -> str:
        outcome = await self._conversation.call(arguments)
        if outcome.citations and self._show_citations is not None:
            self._show_citations(outcome.citations)
        return outcome.output


def _speech_started(event: object) -> bool:
    return isinstance(event, dict) and event.get("type") == "input_audio_buffer.speech_started"


__all__ = ["AgentKnowledge"]
