"""`RAGFlowProvider`: datasets of a RAGFlow server, by its REST interface, versions 0.20 to 0.27."""

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
    ProviderUnauthorized,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    UnsupportedFilters,
)

from ._conditions import holds, joined_conditions
from ._config import NamedConfig, read_config, secret
from ._description import description
from ._failures import OurError, failed, refused, vendor_call
from ._filters import OwnerFilters, filters_for
from ._scopes import ScopedStores, check_stores, disclosed, stores_for
from ._values import is_web_address, kept, result_of, text_of
from ._vendor import load_vendor

if TYPE_CHECKING:
    import httpx2

CODES: Mapping[int, OurError] = {
    100: ProviderUnavailable,
    101: refused,
    102: refused,
    103: ProviderUnavailable,
    105: ProviderUnavailable,
    106: ProviderUnavailable,
    108: ProviderForbidden,
    109: ProviderUnauthorized,
    400: refused,
    401: ProviderUnauthorized,
    403: ProviderForbidden,
    404: KnowledgeNotFound,
    500: ProviderUnavailable,
}
"""``code`` of an answer, which mostly comes with HTTP 200, against ours."""


class RAGFlowProvider:
    """Posts to ``/api/v1/retrieval`` of a RAGFlow server and reads its chunks.

    ``dataset_ids`` is a list, a mapping of knowledge-base names to ids (the model sees the names alone), or a function
    of the trusted context. Filters are RAGFlow's ``{"logic": "and", "conditions": [...]}``. Several versions ignore
    them or apply them wrongly, so each chunk is checked again here, by its dataset and by its document's metadata,
    which servers return from 0.25.2 on; with an older one filters are refused. ``keyword`` and ``rerank_id`` make
    RAGFlow call models, which takes longer than a turn allows on many installations.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        dataset_ids: ScopedStores,
        *,
        key: str,
        label: str,
        client: "httpx2.AsyncClient | None" = None,
        owner_filters: OwnerFilters | None = None,
        similarity_threshold: float = 0.2,
        vector_similarity_weight: float = 0.3,
        candidates: int = 1024,
        rerank_id: str | None = None,
        keyword: bool = False,
        min_score: float | None = None,
        timeout_seconds: float = 8.0,
        max_bytes: int = 4_000_000,
        allow_private: bool = True,
    ) -> None:
        if not is_web_address(base_url):
            raise ValueError("RAGFlowProvider needs a base_url that begins with http:// or https://")
        check_stores(dataset_ids, "dataset_ids")
        load_vendor("httpx2", package="httpx2", extra="ragflow", adapter="RAGFlowProvider")
        from ._json_client import JsonClient, http_failure

        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._datasets = dataset_ids
        self._owner_filters = owner_filters
        self._fixed: dict[str, Any] = {
            "page": 1,
            "similarity_threshold": similarity_threshold,
            "vector_similarity_weight": vector_similarity_weight,
            "top_k": candidates,
            "keyword": keyword,
            "highlight": False,
        }
        if rerank_id is not None:
            self._fixed["rerank_id"] = rerank_id
        self._min_score = min_score
        self._timeout_seconds = timeout_seconds
        self._translate = http_failure
        self._client = JsonClient(key, client=client, max_bytes=max_bytes, allow_private=allow_private)
        self._description = description(key, label, filters=True, scores=True, knowledge_bases=disclosed(dataset_ids))

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Ask once, or twice when the server could not be reached or answered 503."""
        key = self._description.key
        async with vendor_call(key, context, self._timeout_seconds, self._translate):
            datasets = stores_for(key, self._datasets, request, context)
            filters = filters_for(key, request, context, self._owner_filters)
            condition = joined_conditions(key, filters, "logic") if filters else None
            body = self._body(request, datasets, condition)
            url = f"{self._base_url}/api/v1/retrieval"
            answer = await self._client.send("POST", url, headers=self._headers, body=body)
            chunks = [chunk for chunk in self._chunks(answer) if chunk.get("dataset_id") in datasets]
            if condition is not None:
                chunks = [chunk for chunk in chunks if self._holds(condition, chunk)]
            return kept((_result(chunk) for chunk in chunks), self._min_score)[: request.top_k]

    def _body(
        self, request: RetrievalRequest, datasets: list[str], condition: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """``page_size`` is the number of results; ``top_k`` is how many candidates are ranked."""
        body = {
            **self._fixed,
            "question": text_of(request.query),
            "dataset_ids": datasets,
            "page_size": max(2, request.top_k),  # a page of one came back empty in some versions
        }
        if condition is not None:
            body |= {"metadata_condition": condition, "include_metadata": True}
        return body

    def _chunks(self, answer: Any) -> list[Mapping[str, Any]]:
        key = self._description.key
        data = _data(answer, key)
        if data is None:
            return []
        chunks = data.get("chunks") if isinstance(data, Mapping) else None
        if not isinstance(chunks, list):
            raise InvalidRetrievalResult(key, "an answer without chunks")
        return [chunk for chunk in chunks if isinstance(chunk, Mapping)]

    def _holds(self, condition: Mapping[str, Any], chunk: Mapping[str, Any]) -> bool:
        metadata = chunk.get("document_metadata")
        if not isinstance(metadata, Mapping):
            raise UnsupportedFilters(self._description.key, "does not return the metadata that filters are checked by")
        return holds(condition, metadata, "logic")

    async def health(self) -> ProviderHealth:
        """Ready when the server accepts the key."""
        url = f"{self._base_url}/api/v1/datasets?page=1&page_size=1"
        try:
            async with vendor_call(
                self._description.key, RetrievalContext(owner_id="health"), self._timeout_seconds, self._translate
            ):
                _data(await self._client.send("GET", url, headers=self._headers), self._description.key)
        except RetrievalError as error:
            return ProviderHealth(status="unavailable", message=str(error))
        return ProviderHealth(status="ready")

    async def close(self) -> None:
        """Close the connections; a client that the host gave stays open."""
        await self._client.aclose()


def _data(answer: Any, provider: str) -> Any:
    """Return ``data`` of a success, None for "nothing found"; raises our error for any other code."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("code"), int):
        raise InvalidRetrievalResult(provider, "JSON that is not an answer of RAGFlow")
    code, data = answer["code"], answer.get("data")
    if code == 0 and data is False:  # how versions up to 0.24 say that the key is missing
        raise ProviderUnauthorized(provider)
    if code == 0:
        return data
    message = text_of(answer.get("message")).lower()  # read, never passed on
    if code == 102 and "no chunk found" in message:
        return None
    if code == 102 and "don't own" in message:
        raise ProviderForbidden(provider)
    raise CODES.get(code, failed)(provider)


def _result(chunk: Mapping[str, Any]) -> KnowledgeResult | None:
    metadata = chunk.get("document_metadata")
    own = {name: chunk.get(name) for name in ("dataset_id", "vector_similarity", "term_similarity")}
    positions = chunk.get("positions")
    first = positions[0] if isinstance(positions, list) and positions else None
    page = first[0] if isinstance(first, list) and first and isinstance(first[0], int) else None
    return result_of(
        chunk.get("id"),
        content=chunk.get("content"),
        metadata={**(metadata if isinstance(metadata, Mapping) else {}), **own},
        score=chunk.get("similarity"),
        id=chunk.get("document_id"),
        title=chunk.get("document_keyword"),
        locator=None if page is None else f"page={page}",
    )


class _RAGFlowConfig(NamedConfig):
    base_url: str
    api_key_env: str
    dataset_ids: dict[str, str] | list[str] = Field(min_length=1)
    similarity_threshold: float = Field(default=0.2, ge=0, le=1)
    vector_similarity_weight: float = Field(default=0.3, ge=0, le=1)
    candidates: int = Field(default=1024, gt=0)
    rerank_id: str | None = None
    keyword: bool = False
    min_score: float | None = None
    max_bytes: int = Field(default=4_000_000, gt=0)
    allow_private: bool = True


def from_config(config: Mapping[str, Any]) -> RAGFlowProvider:
    """Build a provider from settings; ``api_key_env`` names the variable that holds the key."""
    settings = read_config(_RAGFlowConfig, config, "ragflow")
    values = settings.model_dump(exclude={"api_key_env"})
    return RAGFlowProvider(api_key=secret(settings.api_key_env, "ragflow"), **values)


__all__ = ["RAGFlowProvider", "from_config"]
