"""The knowledge tool as an MCP server: the same tool, bounds and framing, for any MCP client.

The owner is the one whose token the HTTP transport has verified, or the single personal owner of a pipe or of loopback.
Arguments name no owner: the tool reads none.
"""

import secrets
from typing import TYPE_CHECKING, Any

from knowledge_provider import PERSONAL_OWNER

from ..knowledge_tool import KnowledgeTool, ToolOutcome
from ..owners import Owners
from .missing_package import installed
from .plain import citations_message

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult
    from starlette.applications import Starlette

CITATIONS = "earpiece/citations"
"""The key of a result's ``_meta`` with the links that a client may show; the model is not given them."""

_ANSWERED = ("ok", "no_results", "repeated")


def mcp_server(tool: KnowledgeTool) -> "Server[Any]":
    """Return a low-level MCP server with the one tool, or with none without a provider. Raises `MissingHostPackage`.

    A client that cancels its request cancels the retrieval.
    """
    with installed("MCP", "mcp"):
        import mcp_types as types
        from mcp.server.lowlevel import Server
        from mcp.shared.exceptions import MCPError

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        definition = tool.definition_for(_owner())
        if definition is None:
            return types.ListToolsResult(tools=[])
        offered = types.Tool(
            name=definition["name"], description=definition["description"], input_schema=definition["parameters"]
        )
        return types.ListToolsResult(tools=[offered])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        definition = tool.definition_for(_owner())
        if definition is None or params.name != definition["name"]:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:64]!r}.")
        outcome = await tool.call(params.arguments or {}, owner_id=_owner(), trace_id=secrets.token_hex(16))
        return _result(outcome)

    return Server("earpiece", on_list_tools=list_tools, on_call_tool=call_tool)


def mcp_application(tool: KnowledgeTool, *, owners: Owners | None = None, host: str = "127.0.0.1") -> "Starlette":
    """Return the server as an ASGI application at ``/mcp``. With ``owners`` every request needs a bearer token.

    Without, only loopback is served: raises `ValueError` for any other host.
    """
    from ..http.access import is_loopback

    server = mcp_server(tool)
    if owners is None or not owners.configured:
        if not is_loopback(host):
            raise ValueError(f"{host!r} can be reached by other machines: it needs tokens. Make one: earpiece token")
        return server.streamable_http_app(host=host, json_response=True)

    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from pydantic import AnyHttpUrl

    known = owners

    class Verifier:
        async def verify_token(self, token: str) -> AccessToken | None:
            owner = known.owner_of(token)
            return AccessToken(token=token, client_id=owner, scopes=[], subject=owner) if owner else None

    settings = AuthSettings(issuer_url=AnyHttpUrl(f"http://{host}"), resource_server_url=None)
    return server.streamable_http_app(host=host, json_response=True, auth=settings, token_verifier=Verifier())


def _owner() -> str:
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    return token.subject or "" if token else PERSONAL_OWNER


def _result(outcome: ToolOutcome) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent

    shown = citations_message(outcome.citations)["citations"]
    return CallToolResult(
        content=[TextContent(text=outcome.output)],
        is_error=outcome.status not in _ANSWERED,
        meta={CITATIONS: shown} if shown else None,
    )


__all__ = ["CITATIONS", "mcp_application", "mcp_server"]
