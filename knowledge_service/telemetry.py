"""Events as OpenTelemetry metrics: give `MetricsListener` to a service as a listener. Without an SDK they cost
nothing.
"""

from opentelemetry import metrics

from .events import Indexed, ReapGuarded, Searched, ServiceEvent, Synced, SyncFailed


class MetricsListener:
    """Counts searches by source and outcome, dropped and returned hits, synced records, and measures lag and duration.

    No attribute names a user, a tenant or a record.
    """

    def __init__(self, meter_provider: metrics.MeterProvider | None = None) -> None:
        meter = metrics.get_meter("earpiece.knowledge_service", meter_provider=meter_provider)
        self._searches = meter.create_counter("knowledge.service.source_searches", description="By source and status.")
        self._seconds = meter.create_histogram("knowledge.service.search_duration", unit="s")
        self._dropped = meter.create_counter("knowledge.service.hits_dropped", description="Proposed and not shown.")
        self._returned = meter.create_counter("knowledge.service.hits_returned")
        self._records = meter.create_counter("knowledge.service.records_synced")
        self._lag = meter.create_histogram("knowledge.service.sync_lag", unit="s")
        self._failures = meter.create_counter("knowledge.service.sync_failures")
        self._written = meter.create_counter("knowledge.service.documents_written")
        self._kept = meter.create_counter("knowledge.service.rows_kept", description="By the reap guard.")

    def __call__(self, event: ServiceEvent) -> None:
        if isinstance(event, Searched):
            self._searched(event)
        elif isinstance(event, Synced):
            self._records.add(event.records, {"object": event.object})
            self._lag.record(event.lag_seconds, {"object": event.object})
        elif isinstance(event, SyncFailed):
            self._failures.add(event.records, {"object": event.object, "code": event.code})
        elif isinstance(event, Indexed):
            self._written.add(event.written, {"source": event.source_id, "reason": event.reason})
        elif isinstance(event, ReapGuarded):
            self._kept.add(event.kept, {"object": event.object})

    def _searched(self, event: Searched) -> None:
        self._seconds.record(event.seconds)
        for outcome in event.sources:
            self._searches.add(1, {"source": outcome.source_id, "status": outcome.status, "code": outcome.code})
            self._dropped.add(outcome.dropped, {"source": outcome.source_id})
            self._returned.add(outcome.returned, {"source": outcome.source_id})


__all__ = ["MetricsListener"]
