"""The runtime between a voice gateway and its provider: gate, deadline, cancellation, breaker, one call, close once."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from knowledge_provider import (
    DEFAULT_TOP_K,
    KnowledgeBase,
    KnowledgeResponse,
    KnowledgeRetrievalProvider,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalContext,
    RetrievalError,
    RetrievalRequest,
    RetrievalTimedOut,
)

from .breaker import CircuitBreaker
from .cache import FlightEnded, SingleFlight, TtlCache
from .cited_response import cited_response
from .isolation import IsolationMode
from .mounted_provider import MountedProvider
from .normalization import NormalizedResults, normalize
from .query_key import FlightKey, flight_key
from .request_checks import check_against, checked_context, checked_request
from .similarity import ADOPTION_THRESHOLD
from .speculation import PrefetchCounts, Speculations
from .stop_signal import StopSignal
from .telemetry import (
    NORMALIZED,
    PROVIDER_ANSWERED,
    PROVIDER_ASKED,
    RESULTS,
    RETRIEVAL_QUERY,
    RETRIEVAL_TOP_K,
    CallRecord,
    Telemetry,
    moment,
)
from .turns import Turn, Turns

NO_PROVIDER = "none"


class FrontendKnowledgeRuntime:
    """Asks one provider on behalf of a voice gateway. Use it as an async context manager, or call `aclose`.

    Raises `ProviderContractError` for a provider that does not keep the contract; that provider stays the caller's to
    close. Times are seconds. ``cache_ttl_seconds=0`` turns the cache off. ``record_query_text`` puts what users ask
    into spans.
    """

    def __init__(
        self,
        provider: KnowledgeRetrievalProvider | None = None,
        *,
        timeout_seconds: float = 2.5,
        isolation: IsolationMode = "task",
        max_abandoned: int = 16,
        max_threads: int = 16,
        cache_ttl_seconds: float = 30.0,
        empty_cache_ttl_seconds: float = 5.0,
        breaker_failures: int = 5,
        breaker_cool_down_seconds: float = 10.0,
        max_speculations: int = 4,
        adoption_threshold: float = ADOPTION_THRESHOLD,
        close_timeout_seconds: float = 5.0,
        record_query_text: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._mounted = (
            None
            if provider is None
            else MountedProvider(provider, isolation=isolation, max_abandoned=max_abandoned, max_threads=max_threads)
        )
        self._timeout_seconds = timeout_seconds
        self._close_timeout_seconds = close_timeout_seconds
        self._ttl = cache_ttl_seconds
        self._empty_ttl = min(cache_ttl_seconds, empty_cache_ttl_seconds)
        self._record_query_text = record_query_text
        self._breaker = CircuitBreaker(breaker_failures, breaker_cool_down_seconds)
        self._flights: SingleFlight[NormalizedResults] = SingleFlight()
        self._cache: TtlCache[NormalizedResults] = TtlCache()
        self._changes = 0
        self._turns = Turns()
        self._closing: asyncio.Task[None] | None = None
        self.telemetry = Telemetry(
            self.key, lambda: self.abandoned, tracer_provider=tracer_provider, meter_provider=meter_provider
        )
        self._ahead = Speculations(
            self.telemetry.speculation,
            quota=max_speculations,
            threshold=adoption_threshold,
            keep_asked_seconds=cache_ttl_seconds,
        )

    @property
    def key(self) -> str:
        """The provider's key, or ``none``."""
        return self._mounted.key if self._mounted else NO_PROVIDER

    @property
    def abandoned(self) -> int:
        """How many calls were told to stop and have not."""
        return self._mounted.abandoned.count if self._mounted else 0

    def capabilities(self) -> dict[str, bool]:
        """What the provider says it can do; empty without one."""
        return dict(self._mounted.description.capabilities) if self._mounted else {}

    def describe(self) -> ProviderDescription | None:
        """The provider's description, or None without one."""
        return self._mounted.description if self._mounted else None

    def knowledge_bases(self, owner_id: str) -> tuple[KnowledgeBase, ...]:
        """The knowledge bases that this owner may choose from; protocol 1 discloses the same ones to every owner."""
        return (self._mounted.description.knowledge_bases or ()) if self._mounted and owner_id else ()

    def turn(self, owner_id: str, session_id: str, turn_id: str) -> Turn:
        """What is remembered of this turn: its citations and the calls it has made."""
        return self._turns.turn(owner_id, session_id, turn_id)

    async def health(self) -> ProviderHealth:
        """Ask how the provider is; answers within the runtime's timeout and raises nothing but cancellation."""
        if self._mounted is None:
            return ProviderHealth(status="unconfigured", message="No knowledge provider is mounted.")
        if self._closing:
            return ProviderHealth(status="unavailable", message="The gateway is closed.")
        health = await self._mounted.health(seconds=self._timeout_seconds)
        if health.status == "ready" and self._breaker.is_open:
            return ProviderHealth(status="degraded", message="Resting after repeated failures.")
        return health

    async def search(
        self,
        query: str,
        *,
        owner_id: str,
        session_id: str = "",
        turn_id: str = "",
        trace_id: str = "",
        knowledge_base_ids: Iterable[str] = (),
        filters: Mapping[str, Any] | None = None,
        top_k: int = DEFAULT_TOP_K,
    ) -> KnowledgeResponse:
        """Return bounded, cited results. Raises a `RetrievalError`, or is cancelled with its caller."""
        with self.telemetry.call(trace_id) as record:
            try:
                mounted = self._open()
                context = checked_context(owner_id, session_id, turn_id, trace_id, seconds=self._timeout_seconds)
                request = checked_request(query, knowledge_base_ids, filters, top_k)
                check_against(mounted.description, request)
                self._note(record, request)
                found = await self._found(mounted, request, context, record)
                response = cited_response(request, found, self.turn(owner_id, session_id, turn_id).citations)
            except RetrievalError as error:
                record.outcome = record.error = error.code
                raise
            except asyncio.CancelledError:
                record.outcome = "cancelled"
                raise
            record.outcome = response.status
            record.attributes[RESULTS] = len(response.results)
            return response

    def speculate(self, query: str, *, owner_id: str, session_id: str, trace_id: str = "") -> bool:
        """Look a query up before the model asks; says whether it was begun. Never waits, never raises.

        `search` in the same session adopts the answer if it meets the same need. Nothing is begun without a session,
        for a provider that forbids it (``speculative: False``) or rests, or while real calls need the room.
        """
        mounted = self._mounted
        allowed = mounted is not None and mounted.description.capabilities.get("speculative", True)
        if mounted is None or not allowed or self._closing or self._breaker.is_open:
            return False
        try:
            request = checked_request(query, (), None, DEFAULT_TOP_K)
            context = checked_context(owner_id, session_id, "", trace_id, seconds=self._timeout_seconds)
        except RetrievalError:
            return False
        if self._cache.get(flight_key(owner_id, mounted.key, request)) is not None:
            return False

        async def look(stopped: StopSignal) -> NormalizedResults:
            with self.telemetry.ahead():
                return await self._retrieved(mounted, request, context, stopped)

        return self._ahead.start(context, request, look)

    def prefetch_counts(self, owner_id: str, session_id: str) -> PrefetchCounts:
        """Return what `speculate` has come to in this session."""
        return self._ahead.counts(owner_id, session_id)

    def end_prefetch(self, owner_id: str, session_id: str) -> None:
        """The turn is over: stop what is looked up ahead for it, and forget what was not used."""
        self._ahead.new_turn(owner_id, session_id)

    def forget(self, owner_id: str | None = None) -> None:
        """Drop cached answers, of one owner or of all: call it when documents were removed or changed.

        An answer that is on its way serves those who wait for it, and is not kept.
        """
        self._changes += 1
        self._ahead.forget(owner_id)
        self._cache.forget(lambda key: owner_id is None or (isinstance(key, FlightKey) and key.owner_id == owner_id))

    async def aclose(self) -> None:
        """Settle the calls in flight, then close the provider, once, within the bound."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _close(self) -> None:
        self._flights.end_all()
        self._ahead.close()
        self._cache.forget()
        if self._mounted is not None:
            await self._mounted.close(seconds=self._close_timeout_seconds)

    def _open(self) -> MountedProvider:
        if self._mounted is None:
            raise ProviderUnconfigured(NO_PROVIDER, "is not configured: no knowledge provider is mounted")
        if self._closing:
            raise ProviderUnavailable(self.key, "is closed")
        return self._mounted

    def _note(self, record: CallRecord, request: RetrievalRequest) -> None:
        record.attributes[RETRIEVAL_TOP_K] = request.top_k
        if self._record_query_text:
            record.attributes[RETRIEVAL_QUERY] = request.query

    async def _found(
        self, mounted: MountedProvider, request: RetrievalRequest, context: RetrievalContext, record: CallRecord
    ) -> NormalizedResults:
        key = flight_key(context.owner_id, mounted.key, request)
        cached = self._cache.get(key)
        if cached is not None:
            record.cache = "hit"
            return cached
        early = await self._known_already(mounted, request, context, record)
        if early is not None:
            return early
        record.cache = "shared" if key in self._flights else "miss"

        changes = self._changes

        async def fly(stopped: StopSignal) -> NormalizedResults:
            found = await self._asked(mounted, request, context, stopped)
            if changes == self._changes and not found.partial:
                self._cache.put(key, found, seconds=self._ttl if found.results else self._empty_ttl)
            return found

        try:
            with self._ahead.real_call():
                found = await self._flights.run(key, fly)
        except FlightEnded:
            raise ProviderUnavailable(mounted.key, "was closed during the call") from None
        if changes == self._changes and not found.partial:
            self._ahead.remember(context, request, found)
        return found

    async def _known_already(
        self, mounted: MountedProvider, request: RetrievalRequest, context: RetrievalContext, record: CallRecord
    ) -> NormalizedResults | None:
        known = self._ahead.claim(context, request)
        if known is None:
            return None
        await known.result()
        if self._closing:
            raise ProviderUnavailable(mounted.key, "was closed during the call")
        found = self._ahead.adopt(context, known, request)
        if found is not None:
            record.cache = "near" if known.kind == "asked" else "ahead"
        return found

    async def _asked(
        self, mounted: MountedProvider, request: RetrievalRequest, context: RetrievalContext, stopped: StopSignal
    ) -> NormalizedResults:
        wait = self._breaker.seconds_until_retry()
        if wait is not None:
            raise ProviderUnavailable(mounted.key, "rests after repeated failures", retry_after_seconds=wait)
        try:
            found = await self._retrieved(mounted, request, context, stopped)
        except RetrievalError as error:
            self._judge(error)
            raise
        except BaseException:
            self._breaker.undecided()
            raise
        self._breaker.succeeded()
        return found

    async def _retrieved(
        self, mounted: MountedProvider, request: RetrievalRequest, context: RetrievalContext, stopped: StopSignal
    ) -> NormalizedResults:
        moment(PROVIDER_ASKED)
        raw = await mounted.retrieve(request, context, stopped=stopped)
        moment(PROVIDER_ANSWERED)
        read = partial(normalize, provider=mounted.key, top_k=request.top_k)
        found = await mounted.read(raw, read, context, stopped=stopped)
        moment(NORMALIZED)
        return found

    def _judge(self, error: RetrievalError) -> None:
        # A refusal may concern one owner alone and came at once; only silence and breakdown make a provider rest.
        if isinstance(error, RetrievalTimedOut) or type(error) is ProviderUnavailable:
            self._breaker.failed()
        else:
            self._breaker.succeeded()


__all__ = ["FrontendKnowledgeRuntime"]
