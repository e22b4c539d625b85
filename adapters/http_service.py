"""`HttpProvider`: a retrieval service of one's own behind a URL. One POST asks, one JSON answer is read."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from knowledge_provider import (
    PROTOCOL_VERSION,
    InvalidRetrievalResult,
    KnowledgeResult,
    ProviderDescription,
    ProviderHealth,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    UnsupportedFilters,
)

from ._config import NamedConfig, read_config, secret
from ._description import description
from ._failures import vendor_call
from ._rows import LIST_NAMES, results_of
from ._values import ScoreKind, SourceFields, check_min_score, is_web_address, kept, rows_at, text_of
from ._vendor import load_vendor

if TYPE_CHECKING:
    import httpx2

Headers = Mapping[str, str] | Callable[[RetrievalContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]
Build = Callable[[RetrievalRequest, RetrievalContext], Any]
Rows = Callable[[Any], Sequence[Any]]


def canonical_body(request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
    """The contract's own request on a wire; the owner travels in the body, where any text is allowed."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "request": {**request.model_dump(by_alias=True), "query": text_of(request.query)},
        "context": {
            "ownerId": context.owner_id,
            "sessionId": context.session_id,
            "turnId": context.turn_id,
            "traceId": context.trace_id,
        },
    }


class HttpProvider:
    """Posts the request as JSON to ``url`` and reads rows from the answer.

    ``build`` writes another body and ``rows`` finds the rows in another answer; ``headers`` may be a function of the
    trusted context. The answer must come within ``timeout_seconds`` as a whole and stay under ``max_bytes``.
    ``allow_private=False`` refuses addresses of inner networks. Set ``filters=True`` only when the service applies
    them: otherwise a request with filters is refused. The service must scope its answer to the owner it is told.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str,
        label: str,
        headers: Headers | None = None,
        client: "httpx2.AsyncClient | None" = None,
        build: Build | None = None,
        rows: Rows | None = None,
        filters: bool = False,
        min_score: float | None = None,
        score_kind: ScoreKind = "raw",
        source_fields: SourceFields | None = None,
        timeout_seconds: float = 8.0,
        max_bytes: int = 4_000_000,
        retries: int = 1,
        allow_private: bool = True,
        trust_env: bool = False,
        health_url: str | None = None,
    ) -> None:
        if not is_web_address(url):
            raise ValueError("HttpProvider needs a url that begins with http:// or https://")
        check_min_score(min_score, score_kind)
        load_vendor("httpx2", package="httpx2", extra="http", adapter=type(self).__name__)
        from ._json_client import JsonClient, http_failure

        self._url = url
        self._headers = headers
        self._build = build or canonical_body
        self._rows = rows
        self._accepts_filters = filters
        self._min_score = min_score
        self._score_kind = score_kind
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._health_url = health_url
        self._translate = http_failure
        self._client = JsonClient(
            key, client=client, max_bytes=max_bytes, retries=retries, allow_private=allow_private, trust_env=trust_env
        )
        self._description = description(key, label, filters=filters, scores=score_kind == "raw")

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Ask the service once, or twice when it could not be reached or answered 503."""
        if request.filters and not self._accepts_filters:
            raise UnsupportedFilters(self._description.key)
        async with vendor_call(self._description.key, context, self._timeout_seconds, self._translate):
            body = self._build(request, context)
            headers = await self._headers_for(context)
            answer = await self._client.send("POST", self._url, headers=headers, body=body)
            return self._results(answer)

    def _results(self, answer: Any) -> list[KnowledgeResult]:
        rows = self._rows(answer) if self._rows is not None else rows_at(answer, LIST_NAMES)
        if rows is None:
            raise InvalidRetrievalResult(self._description.key, "JSON without a list of results")
        results = results_of(rows, fields=self._source_fields, score_kind=self._score_kind)
        return kept(results, self._min_score)

    async def _headers_for(self, context: RetrievalContext) -> Mapping[str, str]:
        headers = self._headers(context) if callable(self._headers) else self._headers
        if inspect.isawaitable(headers):
            headers = await headers
        return headers or {}

    async def health(self) -> ProviderHealth:
        """Ready when ``health_url`` answers 200 with JSON, or when there is none to ask."""
        if self._health_url is None:
            return ProviderHealth(status="ready")
        context = RetrievalContext(owner_id="health")
        try:
            async with vendor_call(self._description.key, context, self._timeout_seconds, self._translate):
                headers = {} if callable(self._headers) else (self._headers or {})
                await self._client.send("GET", self._health_url, headers=headers)
        except RetrievalError as error:
            return ProviderHealth(status="unavailable", message=str(error))
        return ProviderHealth(status="ready")

    async def close(self) -> None:
        """Close the connections; a client that the host gave stays open."""
        await self._client.aclose()


class _HttpConfig(NamedConfig):
    url: str
    bearer_token_env: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    headers_env: dict[str, str] = Field(default_factory=dict)
    filters: bool = False
    min_score: float | None = None
    score_kind: ScoreKind = "raw"
    source_fields: dict[str, str] | None = None
    max_bytes: int = Field(default=4_000_000, gt=0)
    allow_private: bool = True
    trust_env: bool = False
    health_url: str | None = None


def from_config(config: Mapping[str, Any]) -> HttpProvider:
    """Build an `HttpProvider` from settings; ``headers_env`` names a variable for each secret header."""
    settings = read_config(_HttpConfig, config, "http")
    values = settings.model_dump(exclude={"bearer_token_env", "headers", "headers_env"})
    headers = settings.headers | {name: secret(env, "http") for name, env in settings.headers_env.items()}
    if settings.bearer_token_env is not None:
        headers["Authorization"] = f"Bearer {secret(settings.bearer_token_env, 'http')}"
    return HttpProvider(**values, headers=headers)


__all__ = ["HttpProvider", "canonical_body", "from_config"]
