"""`OpenAIFileSearchProvider`: vector stores of OpenAI, or of a server with the same API, searched without a model."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from knowledge_provider import (
    InvalidRetrievalResult,
    KnowledgeNotFound,
    KnowledgeResult,
    ProviderDescription,
    ProviderForbidden,
    ProviderHealth,
    ProviderRateLimited,
    ProviderUnauthorized,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
)

from ._config import NamedConfig, read_config, secret
from ._description import description
from ._failures import OurError, by_name, failed, refused, unreadable, vendor_call
from ._filters import OwnerFilters, filters_for
from ._scopes import ScopedStores, check_stores, disclosed, stores_for
from ._values import SourceFields, kept, result_of, text_of
from ._vendor import load_vendor

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ERRORS: Mapping[str, OurError] = {
    "BadRequestError": refused,
    "UnprocessableEntityError": refused,
    "ConflictError": refused,
    "AuthenticationError": ProviderUnauthorized,
    "SubjectTokenProviderError": ProviderUnauthorized,
    "MutuallyExclusiveAuthError": ProviderUnauthorized,
    "PermissionDeniedError": ProviderForbidden,
    "NotFoundError": KnowledgeNotFound,
    "RateLimitError": ProviderRateLimited,
    "InternalServerError": ProviderUnavailable,
    "APITimeoutError": RetrievalTimedOut,
    "APIConnectionError": ProviderUnavailable,
    "APIResponseValidationError": unreadable,
    "JSONDecodeError": unreadable,
    "AttributeError": unreadable,
    "APIError": failed,
    "OpenAIError": failed,
}
"""The SDK's exceptions, and those that escape it on a broken body, against ours."""

_HEALTH = {"completed": "ready", "in_progress": "degraded"}


class OpenAIFileSearchProvider:
    """Searches vector stores with ``vector_stores.search``, several at once, merged by their common ranker's score.

    ``vector_stores`` is a list of ids, a mapping of knowledge-base names to ids (the model sees the names alone), or a
    function of the trusted context. Filters are OpenAI's own; those of ``owner_filters`` and of the request must both
    hold. The SDK's retries are off: in a turn they would turn a short timeout into seconds of silence.
    """

    def __init__(
        self,
        client: "AsyncOpenAI",
        vector_stores: ScopedStores,
        *,
        key: str,
        label: str,
        owner_filters: OwnerFilters | None = None,
        rewrite_query: bool = False,
        ranker: str | None = None,
        score_threshold: float | None = None,
        source_fields: SourceFields | None = None,
        timeout_seconds: float = 8.0,
        owns_client: bool = False,
    ) -> None:
        if not hasattr(client, "vector_stores") or not hasattr(client, "__aenter__"):
            raise TypeError(f"OpenAIFileSearchProvider needs an AsyncOpenAI client, not {type(client).__name__}")
        check_stores(vector_stores, "vector_stores")
        self._client = client.with_options(max_retries=0, timeout=timeout_seconds)
        self._stores = vector_stores
        self._owner_filters = owner_filters
        ranking = {"ranker": ranker, "score_threshold": score_threshold}
        self._ranking = {name: value for name, value in ranking.items() if value is not None}
        self._rewrite_query = rewrite_query
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._owns_client = owns_client
        self._translate = by_name(ERRORS)
        self._description = description(key, label, filters=True, scores=True, knowledge_bases=disclosed(vector_stores))

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Search every store in scope once, at the same time; the best ``top_k`` of all come back."""
        key = self._description.key
        async with vendor_call(key, context, self._timeout_seconds, self._translate):
            stores = stores_for(key, self._stores, request, context)
            options = self._options(request, filters_for(key, request, context, self._owner_filters))
            async with asyncio.TaskGroup() as searches:
                tasks = [searches.create_task(self._search(store, options)) for store in stores]
            found = [result for task in tasks for result in task.result()]
            return sorted(found, key=_score, reverse=True)[: request.top_k]

    def _options(self, request: RetrievalRequest, filters: list[Mapping[str, Any]]) -> dict[str, Any]:
        options: dict[str, Any] = {"query": text_of(request.query), "max_num_results": request.top_k}
        options["rewrite_query"] = self._rewrite_query
        if filters:
            options["filters"] = filters[0] if len(filters) == 1 else {"type": "and", "filters": filters}
        if self._ranking:
            options["ranking_options"] = self._ranking
        return options

    async def _search(self, store: str, options: Mapping[str, Any]) -> list[KnowledgeResult]:
        page = await self._client.vector_stores.search(store, **options)
        if not isinstance(page.data, list):  # the SDK does not check what came back
            raise InvalidRetrievalResult(self._description.key, "no list of results")
        return kept(self._result(item) for item in page.data)

    def _result(self, item: Any) -> KnowledgeResult | None:
        content = _text(_field(item, "content"))
        file_id = text_of(_field(item, "file_id"))
        return result_of(
            f"{file_id}:{hashlib.sha256(content.encode()).hexdigest()[:16]}" if file_id else None,
            content=content,
            metadata=_field(item, "attributes"),
            score=_field(item, "score"),
            fields=self._source_fields,
            id=file_id or None,
            title=_field(item, "filename"),
        )

    async def health(self) -> ProviderHealth:
        """Ready when every fixed store is indexed, degraded while one is being indexed."""
        if callable(self._stores):
            return ProviderHealth(status="ready", message="The stores depend on who asks and were not checked.")
        context = RetrievalContext(owner_id="health")
        ids = list(self._stores.values()) if isinstance(self._stores, Mapping) else list(self._stores)
        try:
            async with vendor_call(self._description.key, context, self._timeout_seconds, self._translate):
                stores = await asyncio.gather(*(self._client.vector_stores.retrieve(store) for store in ids))
        except RetrievalError as error:
            return ProviderHealth(status="unavailable", message=str(error))
        states = {_HEALTH.get(text_of(_field(store, "status")), "unavailable") for store in stores}
        worst = next(state for state in ("unavailable", "degraded", "ready") if state in states)
        return ProviderHealth.model_validate({"status": worst})

    async def close(self) -> None:
        """Close the client when it is this provider's own."""
        if self._owns_client:
            await self._client.close()


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _text(content: Any) -> str:
    """Join the text parts; servers with the same API send plain text here, or one part alone."""
    if isinstance(content, list):
        return "\n".join(part for part in (text_of(_field(piece, "text")) for piece in content) if part)
    return text_of(content) or text_of(_field(content, "text"))


def _score(result: KnowledgeResult) -> float:
    return float("-inf") if result.score is None else result.score


class _OpenAIConfig(NamedConfig):
    vector_stores: dict[str, str] | list[str] = Field(min_length=1)
    api_key_env: str = "OPENAI_API_KEY"
    base_url: str | None = None
    rewrite_query: bool = False
    ranker: str | None = None
    score_threshold: float | None = None
    source_fields: dict[str, str] | None = None


def from_config(config: Mapping[str, Any]) -> OpenAIFileSearchProvider:
    """Build a provider with a client of its own; ``api_key_env`` names the variable that holds the key."""
    settings = read_config(_OpenAIConfig, config, "openai-file-search")
    openai = load_vendor("openai", package="openai", extra="openai", adapter="OpenAIFileSearchProvider")
    client = openai.AsyncOpenAI(api_key=secret(settings.api_key_env, "openai-file-search"), base_url=settings.base_url)
    values = settings.model_dump(exclude={"api_key_env", "base_url"})
    return OpenAIFileSearchProvider(client, **values, owns_client=True)


__all__ = ["OpenAIFileSearchProvider", "from_config"]
