"""The tool for anyone's own loop: one object for each conversation, which knows its owner, its turn and what runs."""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from knowledge_provider import PERSONAL_OWNER, Citation

from ..knowledge_tool import KnowledgeTool, ToolOutcome
from ..listening import Listener
from ..projection import refusal

_SUPERSEDED = "The user has moved on. Do not answer this."


class KnowledgeConversation:
    """The knowledge tool of one conversation. The owner is what the host's own authentication says.

    Calls of one turn share its budget and the numbering of its citations, so say `new_turn` when the user speaks again.
    """

    def __init__(self, tool: KnowledgeTool, *, owner_id: str = PERSONAL_OWNER, session_id: str = "") -> None:
        self._tool = tool
        self._owner_id = owner_id
        self._session_id = session_id or secrets.token_hex(8)
        self._turns = 0
        self._listener: Listener | None = None
        self._running: set[asyncio.Task[ToolOutcome]] = set()

    @property
    def definition(self) -> dict[str, Any] | None:
        """The flat function tool (type, name, description, parameters), or None without a provider: offer no tool."""
        return self._tool.definition_for(self._owner_id)

    def new_turn(self) -> None:
        """The user has said something new."""
        self._turns += 1
        if self._listener is not None:
            self._listener.new_turn()

    def heard(self, delta: str) -> None:
        """More of what the user is saying, while it is said: it is looked up before the model asks. Never waits."""
        self._listen().heard(delta)

    def finished(self, transcript: str | None = None) -> None:
        """The user has stopped speaking; with a transcript, this is what was said."""
        self._listen().finished(transcript)

    def close(self) -> None:
        """The conversation is over: nothing is looked up any more."""
        self.interrupt()
        if self._listener is not None:
            self._listener.close()

    def interrupt(self) -> None:
        """The user speaks over the answer: every call in flight ends at once, as ``superseded``."""
        self.new_turn()
        for lookup in tuple(self._running):
            lookup.cancel()

    async def call(self, arguments: str | Mapping[str, Any], *, turn_id: str = "") -> ToolOutcome:
        """Answer one call of the model. Raises nothing but cancellation; ``turn_id`` is for hosts that name turns.

        Hand ``outcome.output`` to the model and ``outcome.citations`` to the client. A ``superseded`` outcome settles
        its call too, but asks for no new response.
        """
        if self._listener is not None:
            self._listener.asked()
        lookup = asyncio.create_task(
            self._tool.call(
                arguments,
                owner_id=self._owner_id,
                session_id=self._session_id,
                turn_id=turn_id or str(self._turns),
                trace_id=secrets.token_hex(16),
            )
        )
        self._running.add(lookup)
        try:
            await asyncio.wait([lookup])
        finally:
            self._running.discard(lookup)
            lookup.cancel()
        return superseded() if lookup.cancelled() else lookup.result()

    def _listen(self) -> Listener:
        if self._listener is None:
            self._listener = Listener(self._tool.runtime, owner_id=self._owner_id, session_id=self._session_id)
        return self._listener


def superseded() -> ToolOutcome:
    """What a call ends as when nobody waits for its answer any more."""
    return ToolOutcome("superseded", refusal("superseded", _SUPERSEDED, retryable=False))


def citations_message(citations: tuple[Citation, ...]) -> dict[str, Any]:
    """The message in which a client hears of the links it may show: ``{"type": "knowledge.citations", ...}``."""
    return {"type": "knowledge.citations", "citations": [citation.model_dump(by_alias=True) for citation in citations]}


__all__ = ["KnowledgeConversation", "citations_message", "superseded"]
