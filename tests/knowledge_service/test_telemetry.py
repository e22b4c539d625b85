"""Events become metrics without naming anybody."""

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from knowledge_service import SourceOutcome
from knowledge_service.events import Searched, Synced, SyncFailed
from knowledge_service.telemetry import MetricsListener


def test_searches_and_syncs_are_counted_by_source_and_never_by_person() -> None:
    """An operator sees outcomes, drops and lag."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    listener = MetricsListener(provider)
    outcome = SourceOutcome(source_id="articles", status="ok", raw=9, dropped=6, returned=3)
    listener(Searched(user_id="ada", tenant_id="t1", sources=(outcome,), returned=3, seconds=0.2))
    listener(Synced(object="article", records=7, lag_seconds=1.5))
    listener(SyncFailed(object="article", code="knowledge_index_failed", records=2, dead=1))
    data = reader.get_metrics_data()
    assert data is not None
    found: dict[str, list[Any]] = {
        metric.name.removeprefix("knowledge.service."): list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert found["hits_dropped"][0].value == 6
    assert found["records_synced"][0].value == 7
    assert found["sync_lag"][0].sum == 1.5
    assert found["sync_failures"][0].attributes == {"object": "article", "code": "knowledge_index_failed"}
    assert "ada" not in repr(found)
    provider.shutdown()
