"""`McpProvider`: one retrieval tool of one MCP server, over HTTP, standard input and output, or in this process."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from knowledge_provider import (
    InvalidRetrievalResult,
    KnowledgeNotFound,
    KnowledgeResult,
    ProviderContractError,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)

from ._config import NamedConfig, read_config, secret
from ._description import description
from ._failures import OurError, failed, refused, unreadable, vendor_call
from ._mcp_rows import rows_of, size_of
from ._rows import results_of
from ._values import ScoreKind, SourceFields, check_min_score, kept, text_of
from ._vendor import load_vendor

if TYPE_CHECKING:
    from mcp import Client

Arguments = Callable[[RetrievalRequest, RetrievalContext], Mapping[str, Any]]
OwnerArguments = Callable[[RetrievalContext], Mapping[str, Any]]

CODES: Mapping[int, OurError] = {
    -32001: RetrievalTimedOut,
    -32000: ProviderUnavailable,
    -32600: unreadable,
    -32601: KnowledgeNotFound,
    -32602: refused,
    -32603: ProviderUnavailable,
    -32700: unreadable,
}
"""JSON-RPC codes against ours. The SDK reports HTTP 401, 403 and 500 alike as -32603: they cannot be told apart."""


class McpProvider:
    """Calls ``tool`` of an MCP server and reads rows from what it answers.

    ``server`` is a URL, StdioServerParameters, a server object, or a function that makes a transport. Arguments are the
    query under ``query_arg``, the number under ``top_k_arg``, then ``static_args``, then ``owner_arguments`` of the
    trusted context, which nothing overrides; ``arguments`` writes the first part differently. ``text_fallback`` takes
    prose as results, and ``empty_text`` tells which prose means "nothing found". The model never chooses the tool, and
    the server may not ask this client for anything.
    """

    def __init__(
        self,
        server: Any,
        tool: str,
        *,
        key: str,
        label: str,
        arguments: Arguments | None = None,
        query_arg: str = "query",
        top_k_arg: str | None = None,
        filters_arg: str | None = None,
        static_args: Mapping[str, Any] | None = None,
        owner_arguments: OwnerArguments | None = None,
        result_path: Callable[[Any], Sequence[Any]] | None = None,
        text_fallback: bool = False,
        empty_text: Callable[[str], bool] | None = None,
        headers: Mapping[str, str] | None = None,
        min_score: float | None = None,
        score_kind: ScoreKind = "raw",
        source_fields: SourceFields | None = None,
        timeout_seconds: float = 8.0,
        connect_seconds: float = 5.0,
        max_bytes: int = 4_000_000,
        validate_tool: bool = True,
    ) -> None:
        check_min_score(min_score, score_kind)
        load_vendor("mcp", package="mcp", extra="mcp", adapter="McpProvider")
        from ._mcp_connection import Connection
        from ._mcp_transport import client_maker

        self._tool = tool
        self._arguments = arguments
        self._query_arg = query_arg
        self._top_k_arg = top_k_arg
        self._filters_arg = filters_arg
        self._static_args = dict(static_args or {})
        self._owner_arguments = owner_arguments
        self._result_path = result_path
        self._text_fallback = text_fallback
        self._empty_text = empty_text
        self._min_score = min_score
        self._score_kind = score_kind
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._validate_tool = validate_tool
        maker = client_maker(server, headers or {}, max_bytes)
        self._connection = Connection(key, maker, self._check_tool, connect_seconds)
        self._description = description(key, label, filters=filters_arg is not None, scores=score_kind == "raw")

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Call the tool, over a new connection when the last one was lost; cancelling also tells the server."""
        key = self._description.key
        async with vendor_call(key, context, self._timeout_seconds, mcp_failure):
            arguments = self._arguments_for(request, context)
            seconds = min(self._timeout_seconds, context.remaining_seconds())
            answer = await self._connection.call(self._tool, arguments, seconds)
            if size_of(answer) > self._max_bytes:
                raise InvalidRetrievalResult(key, f"more than {self._max_bytes} bytes")
            results = results_of(self._rows(answer), fields=self._source_fields, score_kind=self._score_kind)
            return kept(results, self._min_score)[: request.top_k]

    def _arguments_for(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        if request.filters and self._filters_arg is None and self._arguments is None:
            raise UnsupportedFilters(self._description.key)
        if self._arguments is not None:
            proposed = dict(self._arguments(request, context))
        else:
            proposed = {self._query_arg: text_of(request.query)}
            if self._top_k_arg is not None:
                proposed[self._top_k_arg] = request.top_k
            if request.filters and self._filters_arg is not None:
                proposed[self._filters_arg] = dict(request.filters)
        owned = self._owner_arguments(context) if self._owner_arguments is not None else {}
        return {**proposed, **self._static_args, **owned}

    def _rows(self, answer: Any) -> Sequence[Any]:
        key = self._description.key
        if self._result_path is not None and not getattr(answer, "is_error", False):
            return self._result_path(answer)
        return rows_of(answer, key, text_fallback=self._text_fallback, empty_text=self._empty_text)

    async def _check_tool(self, client: "Client") -> None:
        """Raise `ProviderUnconfigured` unless the server has the tool, with the arguments it will be given."""
        if not self._validate_tool:
            return None
        key, cursor = self._description.key, None
        for _ in range(20):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                if tool.name == self._tool:
                    return self._check_arguments(tool.input_schema)
            cursor = page.next_cursor
            if not cursor:
                break
        raise ProviderUnconfigured(key, f"finds no tool {self._tool!r} on its server")

    def _check_arguments(self, schema: Mapping[str, Any]) -> None:
        if self._arguments is not None:
            return
        known = schema.get("properties", {})
        needed = (self._query_arg, self._top_k_arg, self._filters_arg, *self._static_args)
        missing = [name for name in needed if name is not None and name not in known]
        if missing:  # servers ignore arguments they do not know, a filter among them
            names = ", ".join(map(repr, missing))
            raise ProviderUnconfigured(self._description.key, f"has a tool {self._tool!r} that takes no {names}")

    async def health(self) -> ProviderHealth:
        """Connect, and see that the tool is there."""
        try:
            async with vendor_call(
                self._description.key, RetrievalContext(owner_id="health"), self._timeout_seconds, mcp_failure
            ):
                await self._connection.client()
        except ProviderUnconfigured as error:
            return ProviderHealth(status="unconfigured", message=str(error)[:500])
        except RetrievalError as error:
            return ProviderHealth(status="unavailable", message=str(error)[:500])
        return ProviderHealth(status="ready")

    async def close(self) -> None:
        """Leave the session and end a child process."""
        await self._connection.close()


def mcp_failure(error: BaseException, provider: str) -> RetrievalError | None:
    """The SDK's exceptions against ours; None leaves the rest to the general rules."""
    if isinstance(error, BaseExceptionGroup):
        return next((ours for part in error.exceptions if (ours := mcp_failure(part, provider))), None)
    if isinstance(error, RetrievalError):
        return error
    code = getattr(error, "code", None)
    if type(error).__module__.startswith("mcp.") and isinstance(code, int):
        return CODES.get(code, failed)(provider)
    if type(error).__name__ == "AnswerTooLong":
        return InvalidRetrievalResult(provider, "more bytes than allowed")
    if isinstance(error, RuntimeError | ValueError):  # a tool that breaks its own schema, a body that cannot be parsed
        return unreadable(provider)
    return failed(provider) if type(error).__module__.startswith("mcp.") else None


class _McpConfig(NamedConfig):
    tool: str
    url: str | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env_from: dict[str, str] = Field(default_factory=dict)
    headers_env: dict[str, str] = Field(default_factory=dict)
    query_arg: str = "query"
    top_k_arg: str | None = None
    filters_arg: str | None = None
    static_args: dict[str, Any] = Field(default_factory=dict)
    text_fallback: bool = False
    min_score: float | None = None
    score_kind: ScoreKind = "raw"
    source_fields: dict[str, str] | None = None
    max_bytes: int = Field(default=4_000_000, gt=0)


def from_config(config: Mapping[str, Any]) -> McpProvider:
    """Build a provider; ``env_from`` gives a child variables of this process, ``headers_env`` headers likewise."""
    settings = read_config(_McpConfig, config, "mcp")
    if (settings.url is None) == (settings.command is None):
        raise ProviderContractError("mcp", "has a wrong config: one of 'url' and 'command' is needed", "Set one")
    stdio = load_vendor("mcp.client.stdio", package="mcp", extra="mcp", adapter="McpProvider")
    server: Any = settings.url
    if settings.command is not None:
        env = {name: secret(variable, "mcp") for name, variable in settings.env_from.items()}
        server = stdio.StdioServerParameters(command=settings.command, args=settings.args, env=env)
    values = settings.model_dump(exclude={"url", "command", "args", "env_from", "headers_env", "tool"})
    headers = {name: secret(variable, "mcp") for name, variable in settings.headers_env.items()}
    return McpProvider(server, settings.tool, headers=headers, **values)


__all__ = ["McpProvider", "from_config", "mcp_failure"]
