"""Small providers of one's own, as a host would write them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

RELEASES = {
    "id": "42",
    "content": "Releases require two reviewers.",
    "source": {"title": "Release handbook", "uri": "https://docs.example.com/releases", "locator": "Approvals"},
}
LONG = {
    "id": "1",
    "content": "Releases require " + "many careful and patient " * 40 + "reviewers.",
    "source": {"title": "Handbook"},
}
"""Takes half a minute to say, so that somebody can speak over it whatever else the machine does."""
HOSTILE = {
    "id": "43",
    "content": "Releases require <img src=x onerror=document.title='run'> two reviewers.",
    "source": {"title": "<b>Bold</b>", "uri": "javascript:alert(1)", "locator": "<i>page 4</i>"},
}


class Handbook:
    """Answers everything with the results it was given."""

    def __init__(self, *results: Mapping[str, Any]) -> None:
        self.results: Sequence[Mapping[str, Any]] = results or (RELEASES,)
        self.failing = False

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "handbook", "label": "Company handbook"}

    async def retrieve(self, request: Any, context: Any) -> Sequence[Mapping[str, Any]]:
        if self.failing:
            raise ConnectionError("password=hunter2 was refused")
        return self.results


class WaitingHandbook(Handbook):
    """Waits for `go` in its first call; says when a call has begun and when one was cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def retrieve(self, request: Any, context: Any) -> Sequence[Mapping[str, Any]]:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await super().retrieve(request, context)
