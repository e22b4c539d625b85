"""Every error of the contract, in one tree.

    KnowledgeError
    ├─ ProviderContractError            the provider is wrong: raised while composing, never in a voice turn
    │  └─ ProtocolVersionMismatch
    └─ RetrievalError                   this call failed: becomes a short typed fact for the model
       ├─ InvalidRetrievalRequest       knowledge_invalid_request
       │  ├─ QueryRequired              knowledge_query_required
       │  ├─ OwnerRequired              knowledge_owner_required
       │  ├─ UnknownKnowledgeBase       knowledge_unknown_base
       │  └─ UnsupportedFilters         knowledge_unsupported_filters
       ├─ RetrievalTimedOut             knowledge_timeout          retryable
       ├─ InvalidRetrievalResult        knowledge_bad_response
       └─ ProviderUnavailable           knowledge_unavailable      retryable
          ├─ ProviderUnconfigured       knowledge_unconfigured
          ├─ ProviderRateLimited        knowledge_rate_limited     retryable
          ├─ ProviderUnauthorized       knowledge_unauthorized
          ├─ ProviderForbidden          knowledge_forbidden
          └─ KnowledgeNotFound          knowledge_not_found

The message is for a developer and is composed here from named facts. It never holds a vendor's own text: that stays
in ``__cause__``, because vendor errors quote keys, passwords and other people's data.
"""

from collections.abc import Sequence
from typing import ClassVar


class KnowledgeError(Exception):
    """Base of every error that Earpiece raises on purpose."""

    code: ClassVar[str] = "knowledge_error"
    retryable: ClassVar[bool] = False


class ProviderContractError(KnowledgeError):
    """Raised at composition when a provider does not keep the contract; says what is wrong and how to mend it."""

    code = "knowledge_provider_contract"

    def __init__(self, provider: str, problem: str, remedy: str) -> None:
        super().__init__(f"Provider {provider!r} {problem}. {remedy}.")
        self.provider = provider
        self.problem = problem
        self.remedy = remedy


class ProtocolVersionMismatch(ProviderContractError):
    """Raised at composition when a provider speaks another version of the contract."""

    code = "knowledge_protocol_version"

    def __init__(self, provider: str, *, expected: int, found: object) -> None:
        super().__init__(
            provider, f"speaks protocol {found!r}; this gateway speaks {expected}", "Update one of the two"
        )
        self.expected = expected
        self.found = found


class RetrievalError(KnowledgeError):
    """Base of the errors of one call: the conversation goes on, the model is told a short typed fact."""

    code = "knowledge_internal"


class InvalidRetrievalRequest(RetrievalError):
    """Raised when a request breaks a bound of the contract, before any provider is called."""

    code = "knowledge_invalid_request"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class QueryRequired(InvalidRetrievalRequest):
    """Raised when the query is empty or only white space."""

    code = "knowledge_query_required"

    def __init__(self) -> None:
        super().__init__("The query is empty. Send the question as text in 'query'.")


class OwnerRequired(InvalidRetrievalRequest):
    """Raised when no owner was given: nobody is never everybody."""

    code = "knowledge_owner_required"

    def __init__(self) -> None:
        super().__init__("No owner was given. The gateway, never the model, must say on whose behalf it asks.")


class UnknownKnowledgeBase(InvalidRetrievalRequest):
    """Raised when a knowledge base is asked for that was not disclosed to this owner."""

    code = "knowledge_unknown_base"

    def __init__(self, unknown: Sequence[str]) -> None:
        names = ", ".join(repr(name) for name in unknown)
        super().__init__(f"Not among the disclosed knowledge bases: {names}. Use a disclosed id, or leave them out.")
        self.unknown = tuple(unknown)


class UnsupportedFilters(InvalidRetrievalRequest):
    """Raised when a host sets filters that the provider cannot apply; ignoring them would widen the search."""

    code = "knowledge_unsupported_filters"

    def __init__(self, provider: str, reason: str = "does not apply filters") -> None:
        super().__init__(f"Provider {provider!r} {reason}. Remove the filters or use a provider that applies them.")
        self.provider = provider


class RetrievalTimedOut(RetrievalError):
    """Raised when the provider did not answer within the deadline."""

    code = "knowledge_timeout"
    retryable = True

    def __init__(self, provider: str, *, timeout_seconds: float | None = None) -> None:
        within = "in time" if timeout_seconds is None else f"within {timeout_seconds:g} s"
        super().__init__(f"Provider {provider!r} did not answer {within}.")
        self.provider = provider
        self.timeout_seconds = timeout_seconds


class InvalidRetrievalResult(RetrievalError):
    """Raised when a provider answers with something that is not a list of results."""

    code = "knowledge_bad_response"

    def __init__(self, provider: str, problem: str) -> None:
        super().__init__(f"Provider {provider!r} answered with {problem}; expected a list or {{'results': [...]}}.")
        self.provider = provider
        self.problem = problem


class ProviderUnavailable(RetrievalError):
    """Raised when the provider cannot be reached, failed, is overloaded, or rests after repeated failures."""

    code = "knowledge_unavailable"
    retryable = True
    default_reason: ClassVar[str] = "is unavailable"

    def __init__(self, provider: str, reason: str | None = None, *, retry_after_seconds: float | None = None) -> None:
        after = "" if retry_after_seconds is None else f" Try again in {retry_after_seconds:.1f} s."
        super().__init__(f"Provider {provider!r} {reason or self.default_reason}.{after}")
        self.provider = provider
        self.retry_after_seconds = retry_after_seconds


class ProviderUnconfigured(ProviderUnavailable):
    """Raised when there is no provider, or it lacks the settings it needs."""

    code = "knowledge_unconfigured"
    retryable = False
    default_reason = "is not configured"


class ProviderRateLimited(ProviderUnavailable):
    """Raised when the retrieval system refuses more calls for now."""

    code = "knowledge_rate_limited"
    default_reason = "is rate limited"


class ProviderUnauthorized(ProviderUnavailable):
    """Raised when the retrieval system does not accept the host's credentials."""

    code = "knowledge_unauthorized"
    retryable = False
    default_reason = "does not accept the configured credentials"


class ProviderForbidden(ProviderUnavailable):
    """Raised when the retrieval system knows the caller and refuses."""

    code = "knowledge_forbidden"
    retryable = False
    default_reason = "refuses access"


class KnowledgeNotFound(ProviderUnavailable):
    """Raised when the collection, index or tool that the host configured does not exist."""

    code = "knowledge_not_found"
    retryable = False
    default_reason = "does not have the configured collection"


__all__ = [
    "InvalidRetrievalRequest",
    "InvalidRetrievalResult",
    "KnowledgeError",
    "KnowledgeNotFound",
    "OwnerRequired",
    "ProtocolVersionMismatch",
    "ProviderContractError",
    "ProviderForbidden",
    "ProviderRateLimited",
    "ProviderUnauthorized",
    "ProviderUnavailable",
    "ProviderUnconfigured",
    "QueryRequired",
    "RetrievalError",
    "RetrievalTimedOut",
    "UnknownKnowledgeBase",
    "UnsupportedFilters",
]
