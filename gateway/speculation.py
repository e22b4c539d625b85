"""What was looked up ahead of the model's call, and what a session asked before: kept until it is asked for.

A speculation runs under a quota of its own and only while real calls leave room. The model's call adopts it when it
answers the same need (see `similarity`) for the same owner, session, knowledge bases and filters; otherwise what still
runs is cancelled.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from knowledge_provider import RetrievalContext, RetrievalRequest

from .normalization import NormalizedResults
from .query_key import flight_key, normalized_query
from .similarity import ADOPTION_THRESHOLD, Need, similarity
from .stop_signal import StopSignal

Work = Callable[[StopSignal], Coroutine[Any, Any, NormalizedResults]]
Session = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PrefetchCounts:
    """What speculation has come to in one session. ``hidden_ms`` is provider time that no call had to wait for."""

    started: int = 0
    adopted: int = 0
    wasted: int = 0
    hidden_ms: float = 0.0

    def since(self, earlier: "PrefetchCounts") -> "PrefetchCounts":
        """Return what was added after ``earlier``."""
        return PrefetchCounts(
            self.started - earlier.started,
            self.adopted - earlier.adopted,
            self.wasted - earlier.wasted,
            round(self.hidden_ms - earlier.hidden_ms, 2),
        )


NO_PREFETCH = PrefetchCounts()


@dataclass(slots=True, eq=False)
class Known:
    """One query of a session with its answer, or with the task that fetches it."""

    request: RetrievalRequest
    need: Need
    began: float
    kind: Literal["ahead", "asked"]
    found: NormalizedResults | None = None
    task: "asyncio.Task[NormalizedResults] | None" = None
    stopped: StopSignal = field(default_factory=StopSignal)
    ended: float | None = None
    claimed: float | None = None
    adopted: bool = False

    async def result(self) -> NormalizedResults | None:
        """Wait for the answer; None when it could not be had. Cancelled, it takes the retrieval with it."""
        if self.task is None or self.task.done():
            return self.found
        try:
            await asyncio.wait([self.task])
        except asyncio.CancelledError:
            self.stop()
            raise
        return self.found

    def stop(self) -> None:
        """Nobody wants it any more; the provider is told at once."""
        if self.task is not None and not self.task.done():
            self.stopped.set()
            self.task.cancel()


@dataclass(slots=True)
class _Memory:
    known: list[Known] = field(default_factory=list)
    counts: PrefetchCounts = NO_PREFETCH


class Speculations:
    """All sessions of one runtime. ``quota`` bounds the speculations in flight; times are seconds."""

    def __init__(
        self,
        count: Callable[[str, float], None],
        *,
        quota: int = 4,
        keep_ahead_seconds: float = 15.0,
        keep_asked_seconds: float = 30.0,
        threshold: float = ADOPTION_THRESHOLD,
        per_session: int = 8,
        capacity: int = 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count = count
        self._quota = quota
        self._keep_ahead = keep_ahead_seconds
        self._keep_asked = keep_asked_seconds
        self._threshold = threshold
        self._per_session = per_session
        self._capacity = capacity
        self._clock = clock
        self._sessions: OrderedDict[Session, _Memory] = OrderedDict()
        self._running: set[Known] = set()
        self._real = 0

    @contextmanager
    def real_call(self) -> Iterator[None]:
        """While as many of these run as the quota allows speculations, none is begun: real calls come first."""
        self._real += 1
        try:
            yield
        finally:
            self._real -= 1

    def start(self, context: RetrievalContext, request: RetrievalRequest, work: Work) -> bool:
        """Begin to look this up, in place of what the session was looking up; says whether it did."""
        session = (context.owner_id, context.session_id)
        if not context.session_id or max(len(self._running), self._real) >= self._quota:
            return False
        memory = self._memory(session)
        if any(_same(known, request) for known in memory.known):
            return False
        self._stop(memory)
        known = Known(request, Need.of(request.query), self._clock(), "ahead")
        known.task = asyncio.create_task(work(known.stopped))
        self._watch(known, known.task)
        memory.known.append(known)
        self._trim(memory)
        self._note(memory, "started")
        return True

    def claim(self, context: RetrievalContext, request: RetrievalRequest) -> Known | None:
        """Return what answers this request, now or soon. Whatever still runs for something else is cancelled."""
        memory = self._sessions.get((context.owner_id, context.session_id))
        if memory is None or not context.session_id:
            return None
        need = Need.of(request.query)
        best = max(memory.known, key=lambda known: self._fit(known, request, need), default=None)
        if best is None or self._fit(best, request, need) < self._threshold:
            self._stop(memory)
            return None
        self._stop(memory, but=best)
        best.claimed = best.claimed or self._clock()
        return best

    def adopt(self, context: RetrievalContext, known: Known, request: RetrievalRequest) -> NormalizedResults | None:
        """Return the answer of a claimed query as an answer to this request, and count the time it saved.

        None when there is none: a failed one, or an empty one in other words, where the words may be the reason.
        """
        memory, found = self._memory((context.owner_id, context.session_id)), known.found
        if found is None or (not found.results and not _same(known, request)):
            self._drop(memory, [each for each in memory.known if each is known])
            return None
        if known.kind == "ahead" and not known.adopted:
            known.adopted = True
            ended = self._clock() if known.ended is None else known.ended
            self._note(memory, "adopted", (min(known.claimed or ended, ended) - known.began) * 1000)
        return _first(found, request.top_k)

    def remember(self, context: RetrievalContext, request: RetrievalRequest, found: NormalizedResults) -> None:
        """Keep what was really asked, for the next time that the session asks for nearly the same."""
        if not context.session_id or not found.results or self._keep_asked <= 0:
            return
        memory = self._memory((context.owner_id, context.session_id))
        now = self._clock()
        memory.known = [known for known in memory.known if known.kind == "ahead" or not _same(known, request)]
        memory.known.append(Known(request, Need.of(request.query), now, "asked", found=found, ended=now))
        self._trim(memory)

    def counts(self, owner_id: str, session_id: str) -> PrefetchCounts:
        """Return what speculation has come to in this session."""
        memory = self._sessions.get((owner_id, session_id))
        return memory.counts if memory else NO_PREFETCH

    def new_turn(self, owner_id: str, session_id: str) -> None:
        """What was looked up for the last turn and not used has been wasted."""
        memory = self._sessions.get((owner_id, session_id))
        if memory is not None:
            self._stop(memory)
            self._drop(memory, [known for known in memory.known if known.kind == "ahead" and not known.adopted])

    def forget(self, owner_id: str | None = None) -> None:
        """Drop what is known for this owner, or for all, because documents changed; what still runs is cancelled."""
        for (owner, _), memory in self._sessions.items():
            if owner_id in (None, owner):
                self._stop(memory)
                self._drop(memory, list(memory.known))

    def close(self) -> None:
        """Cancel and forget everything."""
        for known in tuple(self._running):
            known.stop()
        self._sessions.clear()

    def _memory(self, session: Session) -> _Memory:
        memory = self._sessions.setdefault(session, _Memory())
        self._sessions.move_to_end(session)
        while len(self._sessions) > self._capacity:
            _, oldest = self._sessions.popitem(last=False)
            self._stop(oldest)
        return memory

    def _fit(self, known: Known, request: RetrievalRequest, need: Need) -> float:
        keep = self._keep_ahead if known.kind == "ahead" else self._keep_asked
        if known.ended is not None and self._clock() - known.ended > keep:
            return 0.0
        if known.request.top_k < request.top_k or _scope(known.request) != _scope(request):
            return 0.0
        return 2.0 if _same(known, request) else similarity(known.need, need)

    def _watch(self, known: Known, task: "asyncio.Task[NormalizedResults]") -> None:
        self._running.add(known)

        def ended(task: "asyncio.Task[NormalizedResults]") -> None:
            self._running.discard(known)
            known.ended = self._clock()
            if not task.cancelled() and task.exception() is None:
                known.found = task.result()

        task.add_done_callback(ended)

    def _stop(self, memory: _Memory, but: Known | None = None) -> None:
        running = [known for known in memory.known if known.task and not known.task.done() and known is not but]
        for known in running:
            known.stop()
        self._drop(memory, running)

    def _drop(self, memory: _Memory, dropped: list[Known]) -> None:
        for known in dropped:
            memory.known.remove(known)
            if known.kind == "ahead" and not known.adopted:
                self._note(memory, "wasted")

    def _trim(self, memory: _Memory) -> None:
        self._drop(memory, memory.known[: -self._per_session])

    def _note(self, memory: _Memory, event: Literal["started", "adopted", "wasted"], hidden_ms: float = 0.0) -> None:
        counts = memory.counts
        memory.counts = replace(
            counts, **{event: getattr(counts, event) + 1, "hidden_ms": counts.hidden_ms + hidden_ms}
        )
        self._count(event, hidden_ms)


def _same(known: Known, request: RetrievalRequest) -> bool:
    words = normalized_query(known.request.query) == normalized_query(request.query)
    return words and _scope(known.request) == _scope(request)


def _scope(request: RetrievalRequest) -> Hashable:
    return flight_key("", "", request.model_copy(update={"query": "any", "top_k": 1}))


def _first(found: NormalizedResults, count: int) -> NormalizedResults:
    if len(found.results) <= count:
        return found
    kept = found.results[:count]
    truncated = found.truncated_ids & {result.id for result in kept}
    return NormalizedResults(kept, frozenset(truncated), found.more + len(found.results) - count, found.partial)


__all__ = ["NO_PREFETCH", "Known", "PrefetchCounts", "Speculations"]
