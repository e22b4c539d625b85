"""How a LangChain object is asked: decided once, when the provider is built, from its shape.

LangChain's own defaults run blocking code in the event loop's default executor, which the whole process shares. So a
coroutine of LangChain is used only where the class, its store and its embeddings bring one of their own.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_BASE_MODULES = (
    "langchain_core.retrievers",
    "langchain_core.vectorstores.base",
    "langchain_core.embeddings.embeddings",
)


@dataclass(frozen=True, slots=True)
class Search:
    """``blocking`` and ``coroutine`` take (query, top_k, extra arguments); ``native`` says which of them to use."""

    blocking: Callable[[str, int, Mapping[str, Any]], Any]
    coroutine: Callable[[str, int, Mapping[str, Any]], Any]
    native: bool
    accepts: Callable[[str], bool]


def search_for(target: Any, *, scores: bool, k_param: str | None) -> Search:
    """Choose how to ask ``target``; raises TypeError or ValueError for what cannot be asked that way."""
    if hasattr(target, "similarity_search_with_score"):
        return _store_search(target, scores=scores)
    if not hasattr(target, "ainvoke"):
        raise TypeError(
            f"LangChainProvider needs a retriever, a runnable or a vector store, not {type(target).__name__}"
        )
    if not scores:
        return _runnable_search(target, k_param)
    if hasattr(target, "vectorstore"):
        if getattr(target, "search_type", "similarity") != "similarity":
            raise ValueError("scores=True asks the vector store itself and would bypass this retriever's search_type")
        return _store_search(target.vectorstore, scores=True, fixed=target.search_kwargs)
    if hasattr(getattr(target, "vectorizer", None), "get_scores"):
        return _bm25_search(target)
    raise ValueError(f"scores=True needs a vector store or a BM25 retriever; {type(target).__name__} gives no scores")


def _store_search(store: Any, *, scores: bool, fixed: Mapping[str, Any] | None = None) -> Search:
    name = "similarity_search_with_score" if scores else "similarity_search"
    blocking, coroutine = getattr(store, name), getattr(store, f"a{name}")
    given = dict(fixed or {})
    return Search(
        blocking=lambda query, k, extra: blocking(query, **{**given, "k": k, **extra}),
        coroutine=lambda query, k, extra: coroutine(query, **{**given, "k": k, **extra}),
        native=_store_is_async(store, f"a{name}"),
        accepts=lambda argument: argument not in given,
    )


def _bm25_search(retriever: Any) -> Search:
    """LangChain's BM25 retriever drops the scores it ranked by, so the ranking is read from its vectorizer."""

    def blocking(query: str, k: int, _: Mapping[str, Any]) -> list[tuple[Any, float]]:
        scores = retriever.vectorizer.get_scores(retriever.preprocess_func(query))
        ranked = sorted(zip(retriever.docs, scores, strict=True), key=lambda pair: -pair[1])
        return ranked[:k]

    return Search(blocking=blocking, coroutine=blocking, native=False, accepts=lambda _: False)


def _runnable_search(target: Any, k_param: str | None) -> Search:
    fixed = getattr(target, "search_kwargs", {})
    by_argument = k_param is not None and _takes(target, k_param)
    by_field = k_param is not None and not by_argument and k_param in getattr(type(target), "model_fields", {})

    def prepared(k: int) -> tuple[Any, dict[str, Any]]:
        asked = target.model_copy(update={k_param: k}) if by_field else target
        return asked, ({str(k_param): k} if by_argument else {})

    def blocking(query: str, k: int, extra: Mapping[str, Any]) -> Any:
        asked, arguments = prepared(k)
        return asked.invoke(query, **arguments, **extra)

    async def coroutine(query: str, k: int, extra: Mapping[str, Any]) -> Any:
        asked, arguments = prepared(k)
        return await asked.ainvoke(query, **arguments, **extra)

    return Search(blocking, coroutine, _is_async(target), lambda name: name not in fixed and _takes(target, name))


def _takes(target: Any, argument: str) -> bool:
    """Whether a retriever reads this argument: LangChain drops what the method does not name, without a word."""
    method = getattr(target, "_get_relevant_documents", None)
    if method is None:
        return False
    parameters = inspect.signature(method).parameters
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _is_async(target: Any) -> bool:
    """Whether a coroutine of its own answers, all the way down through the retrievers and stores it holds."""
    if hasattr(target, "vectorstore"):
        kinds = {"similarity": "asimilarity_search", "mmr": "amax_marginal_relevance_search"}
        method = kinds.get(getattr(target, "search_type", "similarity"))
        return method is not None and _store_is_async(target.vectorstore, method)
    if hasattr(target, "_aget_relevant_documents"):
        return _is_own(target, "_aget_relevant_documents") and all(_is_async(inner) for inner in _inner(target))
    return hasattr(target, "afunc") and not hasattr(target, "func")


def _inner(target: Any) -> list[Any]:
    found: list[Any] = []
    for name in getattr(type(target), "model_fields", {}):
        value = getattr(target, name, None)
        found += value if isinstance(value, list | tuple) else [value]
    return [value for value in found if hasattr(value, "ainvoke")]


def _store_is_async(store: Any, method: str) -> bool:
    embeddings = getattr(store, "embeddings", None)
    return _is_own(store, method) and (embeddings is None or _is_own(embeddings, "aembed_query"))


def _is_own(target: Any, method: str) -> bool:
    """Whether a class defines the coroutine itself; the wrapper that LangChain puts into subclasses does not count."""
    owner = next((kind for kind in type(target).__mro__ if method in vars(kind)), None)
    if owner is None or owner.__module__ in _BASE_MODULES:
        return False
    return "__init_subclass__.<locals>" not in getattr(vars(owner)[method], "__qualname__", "")


__all__ = ["Search", "search_for"]
