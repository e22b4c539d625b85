"""An `HttpProvider` for the service on loopback."""

from typing import Any

from adapters.http_service import HttpProvider
from tests.adapters.http_client import closed_later

ROW = {
    "id": "chunk-42",
    "content": "Releases require two reviewers.",
    "score": 0.91,
    "source": {"id": "handbook", "title": "Handbook", "uri": "https://docs.example.com/r", "mimeType": "text/markdown"},
    "metadata": {"department": "engineering"},
}


def provider(url: str, **options: Any) -> HttpProvider:
    """One that is closed after the test."""
    return closed_later(HttpProvider(f"{url}/search", key="company", label="Company", **options))
