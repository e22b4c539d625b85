"""The words of one conversation, on their way to the planner; what it proposes is looked up."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from .knowledge_runtime import FrontendKnowledgeRuntime
from .prefetch import PrefetchPlanner
from .speculation import PrefetchCounts


class Listener:
    """Feed it what the user says, in pieces or as a whole; nothing here waits or raises.

    ``started`` is called with each query that is looked up ahead; ``within`` is entered around its beginning.
    """

    def __init__(
        self,
        runtime: FrontendKnowledgeRuntime,
        *,
        owner_id: str,
        session_id: str,
        planner: PrefetchPlanner | None = None,
        started: Callable[[str], None] = lambda query: None,
        within: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._runtime = runtime
        self._owner_id = owner_id
        self._session_id = session_id
        self._planner = planner or PrefetchPlanner()
        self._started = started
        self._within = within
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._text = ""
        self._before = PrefetchCounts()
        self._open = True

    @property
    def counts(self) -> PrefetchCounts:
        """What speculation has come to in this turn."""
        return self._runtime.prefetch_counts(self._owner_id, self._session_id).since(self._before)

    def heard(self, delta: str) -> None:
        """The user went on speaking: more of the transcript."""
        self.heard_so_far(self._text + delta)

    def heard_so_far(self, text: str) -> None:
        """The whole transcript of this turn as it stands; its end may still change."""
        self._text = text
        self._planner.hear(text, self._loop.time())
        self._propose()

    def finished(self, text: str | None = None) -> None:
        """The user has stopped speaking; with ``text``, this is the final transcript."""
        if text is not None:
            self._text = text
            self._planner.hear(text, self._loop.time())
        self._planner.finish(self._loop.time())
        self._propose()

    def asked(self) -> None:
        """The model has called: nothing more is looked up ahead in this turn."""
        self._open = False
        self._sleep(None)

    def new_turn(self) -> None:
        """The next words belong to a new question; what was looked up for the last one is given up."""
        self._text = ""
        self._open = True
        self._planner.new_turn()
        self._runtime.end_prefetch(self._owner_id, self._session_id)
        self._before = self._runtime.prefetch_counts(self._owner_id, self._session_id)
        self._sleep(None)

    def close(self) -> None:
        """The conversation is over."""
        self.asked()
        self._runtime.end_prefetch(self._owner_id, self._session_id)

    def _propose(self) -> None:
        if not self._open:
            return
        now = self._loop.time()
        query = self._planner.due(now)
        if query is not None and self._begin(query):
            self._started(query)
        self._sleep(self._planner.wake_at(now))

    def _begin(self, query: str) -> bool:
        with self._within():
            return self._runtime.speculate(query, owner_id=self._owner_id, session_id=self._session_id)

    def _sleep(self, until: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if until is None else self._loop.call_at(until, self._propose)


__all__ = ["Listener"]
