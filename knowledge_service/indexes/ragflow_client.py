"""RAGFlow's HTTP interface as it behaves from version 0.20 on: most failures come with status 200 and a code.

Written from RAGFlow's public source; a refusal of the API key may even look like success, with ``data`` false.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..errors import IndexFailed

MAX_ANSWER_BYTES = 8_000_000
_WRONG_KEY = frozenset({109, 401})
_FORBIDDEN = 108
_DATA_ERRORS = frozenset({101, 102})


class RagflowRefused(IndexFailed):
    """Raised when RAGFlow understood the call and declined it: an unknown id, a page too far, a wrong argument."""


class RagflowClient:
    """One JSON call at a time; every failure is an `IndexFailed` without RAGFlow's own words."""

    def __init__(self, base_url: str, api_key: str, *, name: str, timeout_seconds: float, client: Any = None) -> None:
        if not base_url.strip() or not api_key.strip():
            raise ValueError("RAGFlow needs a base URL and an API key.")
        self._httpx = _httpx()
        self._owned = client is None
        self._client = client or self._httpx.AsyncClient(timeout=timeout_seconds, trust_env=False)
        self._base = f"{base_url.rstrip('/')}/api/v1"
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._name = name

    async def close(self) -> None:
        if self._owned:
            await self._client.aclose()

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The ``data`` of an answer. ``options`` go to httpx2: ``json``, ``params``, ``files``."""
        request = self._client.build_request(method, self._base + path, headers=self._headers, **options)
        try:
            response = await self._client.send(request, stream=True)
            try:
                body = await self._bounded(response)
            finally:
                await response.aclose()
        except self._httpx.HTTPError as error:
            raise IndexFailed(self._name, "cannot be reached") from error
        return self._data(response, body)

    async def _bounded(self, response: Any) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise IndexFailed(self._name, f"sent more than {MAX_ANSWER_BYTES} bytes")
        return bytes(body)

    def _data(self, response: Any, body: bytes) -> Any:
        answer = _mapping(body)
        if response.status_code == 429:
            seconds = response.headers.get("Retry-After", "")
            after = float(seconds) if seconds.isdigit() else None
            raise IndexFailed(self._name, "is rate limited", retry_after_seconds=after)
        code = answer.get("code") if answer else None
        if response.status_code in (401, 403) or code in _WRONG_KEY or (answer and answer.get("data") is False):
            raise IndexFailed(self._name, "does not accept the API key")
        if answer is None:
            raise IndexFailed(self._name, f"answered {response.status_code} without JSON; is the base URL right?")
        if code == _FORBIDDEN:
            raise IndexFailed(self._name, "refuses access to the dataset")
        if code in _DATA_ERRORS:
            raise RagflowRefused(self._name, f"declined the call with code {code}")
        if code not in (0, None) or response.status_code >= 400:
            raise IndexFailed(self._name, f"failed with status {response.status_code} and code {code}")
        return answer.get("data")


def _mapping(body: bytes) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _httpx() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise ImportError("RagflowIndex needs the 'httpx2' package: pip install 'earpiece[ragflow]'") from error
    return httpx2


__all__ = ["RagflowClient", "RagflowRefused"]
