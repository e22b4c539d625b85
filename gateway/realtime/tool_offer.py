"""Pure: our tool among the client's tools, on the way in; and out of sight, on the way back."""

from collections.abc import Mapping
from typing import Any

Event = dict[str, Any]


class ReservedToolName(ValueError):
    """Raised when the client brings a tool with the name of ours."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The tool name {name!r} is taken by this gateway, which answers it. Give your tool another name."
        )


class ToolOffer:
    """What is offered to the model in one session. ``tool`` None means that there is nothing to offer."""

    def __init__(self, tool: Mapping[str, Any] | None) -> None:
        self.tool = tool
        self._client_tools: list[Any] = []

    @property
    def name(self) -> str | None:
        return str(self.tool["name"]) if self.tool else None

    def opening(self, settings: Mapping[str, Any]) -> Event | None:
        """Return the ``session.update`` that opens a connection: what the client has set so far, and our tool."""
        if settings.get("type") == "transcription" or (self.tool is None and not settings):
            return None if not settings else {"type": "session.update", "session": dict(settings)}
        tools = [*self._client_tools, *([self.tool] if self.tool else [])]
        return {"type": "session.update", "session": {"type": "realtime", **settings, "tools": tools}}

    def session_update(self, event: Mapping[str, Any]) -> Event:
        """Return the client's ``session.update`` with our tool added. Raises `ReservedToolName`."""
        session = event.get("session")
        if not isinstance(session, dict) or session.get("type") == "transcription":
            return dict(event)
        tools = session.get("tools")
        if not isinstance(tools, list):
            return dict(event)
        added = self._with_ours(tools)
        self._client_tools = tools
        return {**event, "session": {**session, "tools": added}}

    def response_create(self, event: Mapping[str, Any]) -> Event:
        """Return the client's ``response.create`` with our tool added where it brings tools of its own.

        A response outside the conversation gets none of ours: there is no place for the output of its call.
        """
        response = event.get("response")
        if not isinstance(response, dict) or self.tool is None:
            return dict(event)
        if response.get("conversation") == "none":
            return {**event, "response": {"tools": self._client_tools, **response}}
        if isinstance(response.get("tools"), list):
            return {**event, "response": {**response, "tools": self._with_ours(response["tools"])}}
        return dict(event)

    def without_ours(self, session: Mapping[str, Any]) -> Event:
        """Return a session or response as the client may see it."""
        tools = session.get("tools")
        if not isinstance(tools, list):
            return dict(session)
        return {**session, "tools": [tool for tool in tools if not self._is_ours(tool)]}

    def _with_ours(self, tools: list[Any]) -> list[Any]:
        if self.tool is None:
            return tools
        if any(self._is_ours(tool) for tool in tools):
            raise ReservedToolName(str(self.tool["name"]))
        return [*tools, self.tool]

    def _is_ours(self, tool: object) -> bool:
        return self.tool is not None and isinstance(tool, Mapping) and tool.get("name") == self.tool["name"]


__all__ = ["ReservedToolName", "ToolOffer"]
