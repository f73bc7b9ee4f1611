"""Names that other programs emit: the collector, its connectors, the SDK, Prometheus and its rules, Loki.

Each stands as it arrives in Prometheus or Loki with the configurations in ``collector/``.
"""

from typing import Final

SIGNALS: Final = {"spans": "Spans", "metric_points": "Metric points", "log_records": "Log records"}
"""What the collector calls the items of a signal, and what a reader calls them."""

# --------------------------------------------------------------------------- connectors

SPAN_CALLS: Final = "traces_span_metrics_calls_total"
GRAPH_REQUESTS: Final = "traces_service_graph_request_total"
TRUNCATED: Final = "spanhook.truncated"
"""Set by the collector on a span of which it has cut something."""

# --------------------------------------------------------------------------- the SDK's own metrics

SDK_STARTED: Final = "otel_sdk_span_started_total"
SDK_QUEUE: Final = ("otel_sdk_processor_span_queue_size", "otel_sdk_processor_log_queue_size")
SDK_PROCESSED: Final = ("otel_sdk_processor_span_processed_total", "otel_sdk_processor_log_processed_total")
SDK_EXPORTED: Final = (
    "otel_sdk_exporter_span_exported_total",
    "otel_sdk_exporter_metric_data_point_exported_total",
    "otel_sdk_exporter_log_exported_total",
)

# --------------------------------------------------------------------------- the collector

RECEIVED: Final = "otelcol_receiver_{outcome}_{signal}_total"
"""Outcomes: accepted, refused, failed."""
SENT: Final = "otelcol_exporter_{outcome}_{signal}_total"
"""Outcomes: sent, send_failed, enqueue_failed."""
TEMPO: Final = "otlp_grpc/tempo"
"""The exporter behind sampling."""
EXPORT_QUEUE: Final = "otelcol_exporter_queue_size"
EXPORT_CAPACITY: Final = "otelcol_exporter_queue_capacity"
SAMPLING_TRACES: Final = "otelcol_processor_tail_sampling_new_trace_id_received_total"
SAMPLING_DECIDED: Final = "otelcol_processor_tail_sampling_global_count_traces_sampled_total"
SAMPLING_BY_POLICY: Final = "otelcol_processor_tail_sampling_count_traces_sampled_total"
SAMPLING_HELD: Final = "otelcol_processor_tail_sampling_sampling_traces_on_memory"
SAMPLING_EARLY: Final = "otelcol_processor_tail_sampling_sampling_trace_dropped_too_early_total"
SAMPLING_LATE: Final = "otelcol_processor_tail_sampling_early_releases_from_cache_decision_total"
"""Spans that came after the decision about their trace, which they follow."""
COLLECTOR_MEMORY: Final = "otelcol_process_memory_rss_bytes"
COLLECTOR_CPU: Final = "otelcol_process_cpu_seconds_total"

# --------------------------------------------------------------------------- the control plane's /metrics

WEBHOOK_ATTEMPTS: Final = "spanhook_server_webhook_attempts_total"
"""Results: delivered, failed, dead."""
WEBHOOK_PENDING: Final = "spanhook_server_webhook_pending"
WEBHOOK_OLDEST: Final = "spanhook_server_webhook_oldest_seconds"

# --------------------------------------------------------------------------- Prometheus and its rules

ALERTS: Final = "ALERTS"
UP: Final = "up"
BUDGET: Final = "spanhook:budget_usd:day"

METRICS: Final = frozenset(
    {
        SPAN_CALLS, GRAPH_REQUESTS, SDK_STARTED, *SDK_QUEUE, *SDK_PROCESSED, *SDK_EXPORTED, EXPORT_QUEUE,
        EXPORT_CAPACITY, SAMPLING_TRACES, SAMPLING_DECIDED, SAMPLING_BY_POLICY, SAMPLING_HELD, SAMPLING_EARLY,
        SAMPLING_LATE, COLLECTOR_MEMORY, COLLECTOR_CPU, ALERTS, UP, BUDGET, WEBHOOK_ATTEMPTS, WEBHOOK_PENDING,
        WEBHOOK_OLDEST,
    }
    | {RECEIVED.format(outcome=how, signal=of) for how in ("accepted", "refused", "failed") for of in SIGNALS}
    | {SENT.format(outcome=how, signal=of) for how in ("sent", "send_failed", "enqueue_failed") for of in SIGNALS}
)  # fmt: skip
"""Every metric that is not spanhook's own."""

LABELS: Final = frozenset(
    {
        "service_name", "instance", "job", "exporter", "receiver", "processor", "policy", "decision", "sampled", "le",
        "otel_component_name", "otel_component_type", "alertname", "alertstate", "severity", "client", "server",
        "event_name", "trace_id", "otel_span_sampling_result", "data_type", "spanhook_truncated", "result", "endpoint",
        "otel_scope_name",
    }
)  # fmt: skip
"""Every label that is not an attribute of spanhook's."""
