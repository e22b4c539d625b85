"""Everything between a voice model and a retrieval system: the runtime, the tool, and the realtime gateway."""

from typing import TYPE_CHECKING, Any

from .knowledge_runtime import FrontendKnowledgeRuntime
from .knowledge_tool import KnowledgeTool, ToolOutcome

if TYPE_CHECKING:
    from .application import create_gateway_application


def __getattr__(name: str) -> Any:
    # The realtime gateway brings its HTTP server with it; a host that only wants the runtime does not wait for that.
    if name == "create_gateway_application":
        from .application import create_gateway_application

        return create_gateway_application
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["FrontendKnowledgeRuntime", "KnowledgeTool", "ToolOutcome", "create_gateway_application"]
