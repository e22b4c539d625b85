"""The retrievals of one session, each in a task of its own, so that no reader of a socket ever waits for one."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..knowledge_tool import KnowledgeTool, ToolOutcome
from ..settings import BargeIn
from .actions import CallKey


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, as the gateway knows it: nothing of this comes from a client or a model."""

    owner_id: str
    session_id: str


class Lookups:
    """Starts and stops retrievals. ``settled`` takes each outcome that was not stopped, and its milliseconds."""

    def __init__(
        self,
        tool: KnowledgeTool,
        asker: Asker,
        *,
        on_barge_in: BargeIn,
    ) -> None:
        self.settled: Callable[[CallKey, ToolOutcome, float], None] = lambda key, outcome, elapsed: None
        self._tool = tool
        self._asker = asker
        self._cancels = on_barge_in == "cancel"
        self._running: dict[CallKey, asyncio.Task[None]] = {}
        self._unspoken: set[asyncio.Task[None]] = set()

    def start(self, key: CallKey, arguments: str, turn_id: str) -> None:
        """Begin; the outcome is reported from a task, never from within this call."""
        self._running[key] = asyncio.create_task(self._run(key, arguments, turn_id))

    def stop(self, key: CallKey, *, for_good: bool = False) -> None:
        """Nobody waits any more: cancel, or let it finish unspoken so that the question can be answered when it
        is asked again. ``for_good`` cancels under either policy."""
        task = self._running.pop(key, None)
        if task is None:
            return
        if self._cancels or for_good:
            task.cancel()
        self._unspoken.add(task)
        task.add_done_callback(self._unspoken.discard)

    async def aclose(self) -> None:
        """Cancel everything and wait until all tasks are gone; the runtime bounds how long each may take."""
        tasks = [*self._running.values(), *self._unspoken]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: CallKey, arguments: str, turn_id: str) -> None:
        started = time.perf_counter()
        asker = self._asker
        outcome = await self._tool.call(
            arguments,
            owner_id=asker.owner_id,
            session_id=asker.session_id,
            turn_id=turn_id,
            trace_id=secrets.token_hex(16),
        )
        if self._running.get(key) is asyncio.current_task():
            del self._running[key]
            self.settled(key, outcome, (time.perf_counter() - started) * 1000)


__all__ = ["Asker", "Lookups"]
