"""A conversation that is kept up: it asks, interrupts, and comes back after a lost connection.

What it knows is in `turns`; `changed` is called whenever something of it is different. No screen in here.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp

from ..realtime.holding import HOLDING_MARK

Phase = Literal["queued", "asked", "looking", "answering", "done", "interrupted", "failed", "lost"]
State = Literal["connecting", "open", "away", "refused"]

RUNNING = frozenset({"asked", "looking", "answering"})
_CANCEL_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 8.0
_REMEMBERED_TURNS = 12


@dataclass(slots=True)
class Lookup:
    """One look-up; ``milliseconds`` is None while it runs, ``waited_milliseconds`` is set once it is slow."""

    query: str
    began: float
    status: str = "running"
    milliseconds: float | None = None
    waited_milliseconds: float = 0.0


@dataclass(slots=True)
class SaidTurn:
    """One question and what came of it."""

    question: str
    phase: Phase = "queued"
    answer: str = ""
    problem: str = ""
    lookups: list[Lookup] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.phase not in RUNNING and self.phase != "queued"


class Talk:
    """``run`` keeps the connection; `ask` and `interrupt` never wait. ``introduced``: the model has said who it is."""

    def __init__(
        self, url: str, *, token: str = "", changed: Callable[[SaidTurn | None], None] = lambda _: None
    ) -> None:
        self.url = url
        self.state: State = "connecting"
        self.model = ""
        self.model_problem = ""
        self.introduced = False
        self.turns: list[SaidTurn] = []
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._changed = changed
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._busy = False
        self._responses: dict[str, SaidTurn] = {}
        self._calls: dict[str, tuple[SaidTurn, Lookup]] = {}
        self._holding: set[str] = set()
        self._patience: asyncio.TimerHandle | None = None

    @property
    def current(self) -> SaidTurn | None:
        """The last turn that the model knows of."""
        return next((turn for turn in reversed(self.turns) if turn.phase != "queued"), None)

    @property
    def running(self) -> bool:
        return self.current is not None and self.current.phase in RUNNING

    def ask(self, question: str) -> SaidTurn | None:
        """Ask; what is still being answered is stopped first. None when there is no gateway to ask."""
        if self.state != "open":
            return None
        self.interrupt()
        turn = SaidTurn(question)
        self.turns.append(turn)
        self._flush()
        self._changed(turn)
        return turn

    def interrupt(self) -> None:
        """Stop the answer that is under way, if any."""
        turn = self.current
        if turn is None or turn.phase not in RUNNING:
            return
        self._end(turn, "interrupted")
        if self._busy:
            self._send({"type": "response.cancel"})
            self._patience = asyncio.get_running_loop().call_later(_CANCEL_SECONDS, self._idle)

    async def run(self, *, keep: bool = True) -> None:
        """Connect, and connect again, until cancelled; with ``keep`` False return when the first connection ends."""
        wait = 0.4
        async with aiohttp.ClientSession() as http:
            while True:
                connected = await self._connection(http)
                if not keep or self.state == "refused":
                    return
                wait = 0.4 if connected else min(wait * 2, _LONGEST_WAIT_SECONDS)
                await asyncio.sleep(wait)

    async def _connection(self, http: aiohttp.ClientSession) -> bool:
        try:
            address = f"{self.url}?knowledge_events=1"
            async with http.ws_connect(address, headers=self._headers, max_msg_size=2**24) as socket:
                self._opened()
                sender = asyncio.create_task(self._write(socket))
                try:
                    async for message in socket:
                        if message.type is aiohttp.WSMsgType.TEXT:
                            self.take(json.loads(message.data))
                finally:
                    sender.cancel()
                    await asyncio.gather(sender, return_exceptions=True)
            self._lost("away")
        except aiohttp.WSServerHandshakeError as error:
            self._lost("refused" if error.status in (401, 403) else "away")
            return False
        except (aiohttp.ClientError, OSError):
            self._lost("away")
            return False
        return True

    async def _write(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await socket.send_json(await self._outgoing.get())

    def _opened(self) -> None:
        self._outgoing = asyncio.Queue()
        self.state = "open"
        self._send({"type": "session.update", "session": {"type": "realtime", "output_modalities": ["text"]}})
        for turn in self.turns[-_REMEMBERED_TURNS:]:
            if turn.answer:
                self._send(_message("user", "input_text", turn.question))
                self._send(_message("assistant", "output_text", turn.answer))
        self._changed(None)

    def _lost(self, state: State) -> None:
        self.state = state
        self.introduced = False
        self._busy = False
        self._responses.clear()
        self._calls.clear()
        self._holding.clear()
        for turn in self.turns:
            if not turn.ended:
                self._end(turn, "lost")
        self._changed(None)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one event of the gateway. A sentence that only bridges a slow look-up is neither answer nor end."""
        handler = _HANDLERS.get(event["type"])
        if handler is not None and not self._is_holding(event):
            handler(self, event)

    def _is_holding(self, event: Mapping[str, Any]) -> bool:
        response = event.get("response") or {}
        if HOLDING_MARK in (response.get("metadata") or {}):
            self._holding.add(response["id"])
        return event.get("response_id", response.get("id")) in self._holding

    def _session(self, event: Mapping[str, Any]) -> None:
        self.model = str(event["session"].get("model") or self.model)
        self.model_problem = ""
        self.introduced = True
        self._changed(None)

    def _started(self, event: Mapping[str, Any]) -> None:
        turn = self.current
        if turn is None or turn.phase not in RUNNING:
            return
        lookup = Lookup(event.get("query", ""), time.perf_counter())
        turn.lookups.append(lookup)
        turn.phase = "looking"
        self._calls[event["call_id"]] = (turn, lookup)
        self._changed(turn)

    def _slow(self, event: Mapping[str, Any]) -> None:
        if found := self._calls.get(event["call_id"]):
            turn, lookup = found
            lookup.waited_milliseconds = event["waited_ms"]
            self._changed(turn)

    def _completed(self, event: Mapping[str, Any]) -> None:
        found = self._calls.get(event["call_id"])
        if found is None:
            return
        turn, lookup = found
        lookup.status = event.get("status", "superseded")
        lookup.milliseconds = event.get("elapsed_ms", (time.perf_counter() - lookup.began) * 1000)
        turn.sources += [source for source in event.get("sources", ()) if source not in turn.sources]
        if turn.phase == "looking":
            turn.phase = "asked"
        self._changed(turn)

    def _cited(self, event: Mapping[str, Any]) -> None:
        found = self._calls.get(event.get("call_id", ""))
        if found is None:
            return
        turn = found[0]
        turn.citations += [citation for citation in event["citations"] if citation not in turn.citations]
        self._changed(turn)

    def _response_began(self, event: Mapping[str, Any]) -> None:
        self._busy = True
        if self.current is not None:
            self._responses[event["response"]["id"]] = self.current

    def _words(self, event: Mapping[str, Any]) -> None:
        turn = self._responses.get(event["response_id"])
        if turn is None or turn.phase not in RUNNING:
            return
        turn.phase = "answering"
        turn.answer += event["delta"]
        self._changed(turn)

    def _response_done(self, event: Mapping[str, Any]) -> None:
        response = event["response"]
        turn = self._responses.pop(response["id"], self.current)
        if turn is not None and turn.phase in RUNNING:
            endings: dict[str, Phase] = {"completed": "done", "cancelled": "interrupted"}
            phase = endings.get(response.get("status", ""), "failed")
            if phase == "failed":
                turn.problem = "The model could not answer."
            self._end(turn, phase)
        self._idle()

    def _failed(self, event: Mapping[str, Any]) -> None:
        error = event.get("error") or {}
        if error.get("code") == "model_unavailable":
            self.model_problem = str(error.get("message") or "the model cannot be reached")
        if error.get("code") != "response_cancel_not_active" and self.current and self.current.phase in RUNNING:
            self.current.problem = error.get("message") or "The model reported an error."
            self._end(self.current, "failed")
        if error.get("type") == "invalid_request_error":
            self._idle()

    def _idle(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._busy = False
        self._flush()

    def _flush(self) -> None:
        queued = [turn for turn in self.turns if turn.phase == "queued"]
        if self._busy or not queued:
            return
        # Only the last of several questions asked in a hurry is still wanted.
        for older in queued[:-1]:
            self._end(older, "interrupted")
        self._busy = True
        queued[-1].phase = "asked"
        self._send(_message("user", "input_text", queued[-1].question))
        self._send({"type": "response.create"})
        self._changed(queued[-1])

    def _end(self, turn: SaidTurn, phase: Phase) -> None:
        turn.phase = phase
        self._changed(turn)

    def _send(self, event: dict[str, Any]) -> None:
        self._outgoing.put_nowait(event)


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": "conversation.item.create", "item": item}


_HANDLERS: dict[str, Callable[[Talk, Mapping[str, Any]], None]] = {
    "session.created": Talk._session,
    "session.updated": Talk._session,
    "knowledge.started": Talk._started,
    "knowledge.slow": Talk._slow,
    "knowledge.completed": Talk._completed,
    "knowledge.superseded": Talk._completed,
    "knowledge.citations": Talk._cited,
    "response.created": Talk._response_began,
    "response.output_text.delta": Talk._words,
    "response.output_audio_transcript.delta": Talk._words,
    "response.done": Talk._response_done,
    "error": Talk._failed,
}

__all__ = ["RUNNING", "Lookup", "Phase", "SaidTurn", "State", "Talk"]
