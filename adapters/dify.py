"""`dify_provider`: any service built for Dify's external knowledge API, such as RAGFlow's ``/api/v1/dify``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from knowledge_provider import (
    InvalidRetrievalResult,
    KnowledgeNotFound,
    ProviderUnauthorized,
    RetrievalContext,
    RetrievalRequest,
)

from ._conditions import joined_conditions
from ._config import NamedConfig, read_config, secret
from ._failures import OurError
from ._filters import OwnerFilters, filters_for
from ._values import text_of
from .http_service import HttpProvider

KnowledgeId = str | Callable[[RetrievalContext], str]

ERROR_CODES: Mapping[int, OurError] = {
    1001: ProviderUnauthorized,
    1002: ProviderUnauthorized,
    2001: KnowledgeNotFound,
}
"""Error codes that Dify's page defines; services send them with any HTTP status, 200 among them."""


def dify_provider(
    url: str,
    knowledge_id: KnowledgeId,
    *,
    key: str,
    label: str,
    api_key: str,
    score_threshold: float = 0.0,
    filters: bool = False,
    owner_filters: OwnerFilters | None = None,
    **options: Any,
) -> HttpProvider:
    """Return an `HttpProvider` that posts ``{knowledge_id, query, retrieval_setting}`` to ``url`` (".../retrieval").

    ``knowledge_id`` may be a function of the trusted context. Filters are ``{"logical_operator": "and", "conditions":
    [{"name": [...], "comparison_operator": ..., "value": ...}]}`` and sent only with ``filters=True``: many services
    ignore them. ``options`` are those of `HttpProvider`.
    """
    if owner_filters is not None and not filters:
        raise ValueError("owner_filters needs filters=True, and a service that applies them")

    def build(request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        known = knowledge_id(context) if callable(knowledge_id) else knowledge_id
        if not known:
            raise KnowledgeNotFound(key, "has no knowledge base for this owner")
        body: dict[str, Any] = {
            "knowledge_id": known,
            "query": text_of(request.query),
            "retrieval_setting": {"top_k": request.top_k, "score_threshold": score_threshold},
        }
        if conditions := filters_for(key, request, context, owner_filters):
            body["metadata_condition"] = joined_conditions(key, conditions, "logical_operator")
        return body

    def rows(answer: Any) -> Sequence[Any]:
        if isinstance(answer, Mapping) and isinstance(answer.get("records"), list):
            return [_row(record) for record in answer["records"]]
        code = answer.get("error_code") if isinstance(answer, Mapping) else None
        if isinstance(code, int) and code in ERROR_CODES:
            raise ERROR_CODES[code](key)
        raise InvalidRetrievalResult(key, "JSON without records")

    headers = {"Authorization": f"Bearer {api_key}"}
    return HttpProvider(url, key=key, label=label, headers=headers, build=build, rows=rows, filters=filters, **options)


def _row(record: Any) -> Any:
    """The title stands beside the content and is the source's; metadata may be null."""
    if not isinstance(record, Mapping):
        return None
    return {**record, "metadata": record.get("metadata") or {}, "source": {"title": record.get("title")}}


class _DifyConfig(NamedConfig):
    url: str
    knowledge_id: str
    api_key_env: str
    score_threshold: float = 0.0
    filters: bool = False
    min_score: float | None = None
    allow_private: bool = True
    max_bytes: int = 4_000_000


def from_config(config: Mapping[str, Any]) -> HttpProvider:
    """Build a provider from settings; ``api_key_env`` names the variable that holds the key."""
    settings = read_config(_DifyConfig, config, "dify")
    values = settings.model_dump(exclude={"api_key_env"})
    return dify_provider(**values, api_key=secret(settings.api_key_env, "dify"))


__all__ = ["dify_provider", "from_config"]
