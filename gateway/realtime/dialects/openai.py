"""The GA realtime protocol of OpenAI, which self-hosted servers speak as well."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from .dialect import ErrorClass, Event

_BUSY_CODES = {"conversation_already_has_active_response", "function_call_output_pending"}
_BENIGN_CODES = {"response_cancel_not_active"}
_EXPIRED_CODES = {"session_expired"}
_FATAL_CODES = {
    "invalid_api_key",
    "insufficient_quota",
    "model_not_found",
    "beta_api_shape_disabled",
}
# Servers that speak this protocol word the same refusals in their own ways.
_BUSY_WORDS = ("active response", "response in progress", "response is in progress", "user is speaking")
_BENIGN_WORDS = ("no active response",)


class OpenAIDialect:
    """Nothing is translated; audio passes unread in both directions."""

    raw_from_model: Mapping[str, str] = {"response.output_audio.delta": "response.output_audio.delta"}
    raw_to_model: frozenset[str] = frozenset({"input_audio_buffer.append"})

    def url(self, address: str, model: str) -> str:
        return with_query(address, {"model": model})

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def to_model(self, event: Event) -> Sequence[Event]:
        return (event,)

    def from_model(self, event: Event) -> Sequence[Event]:
        return (event,)

    def error_class(self, error: Mapping[str, Any]) -> ErrorClass:
        names = {str(error.get("code")), str(error.get("type"))}
        message = str(error.get("message")).lower()
        if names & _EXPIRED_CODES:
            return "expired"
        if names & _FATAL_CODES:
            return "fatal"
        if names & _BENIGN_CODES or any(words in message for words in _BENIGN_WORDS):
            return "benign"
        if names & _BUSY_CODES or any(words in message for words in _BUSY_WORDS):
            return "busy"
        return "ordinary"

    def farewell(self) -> Sequence[Event]:
        return ()


def with_query(address: str, parameters: Mapping[str, str]) -> str:
    """Return the address with these query parameters, where not empty, over its own."""
    parts = urlsplit(address)
    query = {**dict(parse_qsl(parts.query)), **{name: value for name, value in parameters.items() if value}}
    return urlunsplit(parts._replace(query=urlencode(query)))


__all__ = ["OpenAIDialect", "with_query"]
