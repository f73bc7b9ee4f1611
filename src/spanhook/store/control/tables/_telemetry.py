"""What the control plane is told: what hooks did, spans, logs and metrics, and what follows from them."""

from sqlalchemy import Index, Table, text

from spanhook.store.control.tables._base import bytes_column, counted, flag, json_column, metadata, number, text_column

execution_logs = Table(
    "spanhook_execution_logs",
    metadata,
    counted(),
    text_column("log_id"),
    text_column("tenant_id"),
    text_column("event_type"),
    text_column("name"),
    text_column("mode"),
    text_column("request_id"),
    flag("aborted"),
    text_column("abort_reason"),
    number("duration_ns"),
    number("time_ns"),
    number("received_ns"),
    json_column("results"),
    Index("uq_spanhook_execution_logs_log_id", "log_id", "tenant_id", unique=True),
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "event_type", "id"),
    Index(None, "event_type", "id"),
    Index(None, "received_ns"),
)
"""Runs of chains of hooks."""

hook_statistics = Table(
    "spanhook_hook_statistics",
    metadata,
    number("hour", key=True),
    text_column("tenant_id", key=True),
    text_column("hook", key=True),
    text_column("event_type", key=True),
    number("executions"),
    number("failures"),
    number("rejections"),
    json_column("buckets"),
)
"""Executions of hooks by hour (since the epoch), and how many of them are in which bucket of durations."""

_DECISION_FILTERS = ("hook", "decision", "mode", "event_type", "agent", "user_id")

decisions = Table(
    "spanhook_decisions",
    metadata,
    counted(),
    bytes_column("key"),
    text_column("owner"),
    text_column("tenant_id"),
    text_column("run_id"),
    bytes_column("trace_id"),
    bytes_column("span_id"),
    text_column("hook"),
    text_column("event_type"),
    text_column("decision"),
    text_column("reason"),
    text_column("mode"),
    text_column("fail_mode"),
    text_column("coverage"),
    text_column("kind"),
    text_column("target"),
    text_column("agent"),
    text_column("user_id"),
    number("status_code"),
    number("elapsed_ns"),
    number("time_ns"),
    number("received_ns"),
    Index("uq_spanhook_decisions_key", "key", unique=True),
    Index(None, "time_ns", "id"),
    Index(None, "tenant_id", "time_ns", "id"),
    *(Index(None, name, "time_ns", "id") for name in _DECISION_FILTERS),
    Index(None, "run_id"),
    Index(None, "received_ns"),
)
"""Decisions of hooks except allow, each once, from log events and from span events."""

resources = Table(
    "spanhook_resources",
    metadata,
    bytes_column("digest", key=True),
    text_column("service"),
    bytes_column("data"),
    number("time_ns"),
)
"""Resources of OTLP, serialized, each once."""

spans = Table(
    "spanhook_spans",
    metadata,
    counted(),
    bytes_column("trace_id"),
    bytes_column("span_id"),
    bytes_column("parent_id"),
    text_column("owner"),
    text_column("tenant_id"),
    text_column("run_id"),
    text_column("kind"),
    text_column("status"),
    text_column("name"),
    number("start_ns"),
    number("end_ns"),
    text_column("scope"),
    bytes_column("resource"),
    bytes_column("data"),
    number("received_ns"),
    Index("uq_spanhook_spans_ids", "trace_id", "span_id", "owner", unique=True),
    Index(None, "received_ns"),
)
"""Spans; data is the span of OTLP, serialized."""

logs = Table(
    "spanhook_logs",
    metadata,
    counted(),
    bytes_column("digest"),
    text_column("owner"),
    text_column("tenant_id"),
    bytes_column("trace_id"),
    bytes_column("span_id"),
    text_column("event_name"),
    number("severity"),
    text_column("body"),
    number("time_ns"),
    text_column("scope"),
    bytes_column("resource"),
    bytes_column("data"),
    number("received_ns"),
    Index("uq_spanhook_logs_digest", "digest", unique=True),
    Index(None, "trace_id"),
    Index(None, "received_ns"),
)
"""Log records; data is the record of OTLP, serialized."""

metrics = Table(
    "spanhook_metrics",
    metadata,
    bytes_column("series", key=True),
    number("time_ns", key=True),
    text_column("owner"),
    text_column("name"),
    text_column("unit"),
    text_column("type"),
    json_column("attributes"),
    json_column("value"),
    bytes_column("resource"),
    number("received_ns"),
    Index(None, "name", "time_ns"),
    Index(None, "received_ns"),
)
"""Data points of metrics; series is a digest of all that tells series apart."""

_BY_BYTES = dict.fromkeys(("run_id", "user_id", "session_id"), "text_pattern_ops")
"""Searches find these by how they begin."""
_RUN_FILTERS = ("tenant_id", "status", "agent", "user_id", "session_id", "service", "name", "error_type")

runs = Table(
    "spanhook_runs",
    metadata,
    counted(),
    text_column("owner"),
    text_column("run_id"),
    bytes_column("trace_id"),
    bytes_column("root_id"),
    bytes_column("root_parent_id"),
    flag("told"),
    text_column("tenant_id"),
    text_column("user_id"),
    text_column("session_id"),
    text_column("agent"),
    text_column("service"),
    text_column("name"),
    text_column("kind"),
    text_column("status"),
    text_column("error_type"),
    flag("ended"),
    number("start_ns"),
    number("end_ns"),
    number("spans"),
    number("decisions"),
    number("input_tokens"),
    number("output_tokens"),
    number("cost_nano"),
    number("unpriced_tokens"),
    number("llm_calls"),
    number("tool_calls"),
    json_column("by_model"),
    number("updated_ns"),
    Index("uq_spanhook_runs_run_id", "run_id", "owner", unique=True, postgresql_ops=_BY_BYTES),
    Index(None, "start_ns", "id"),
    *(Index(None, name, "start_ns", "id", postgresql_ops=_BY_BYTES) for name in _RUN_FILTERS),
    # Most runs are whole when they are first written: an index of all trace ids would cost more than all others.
    Index("ix_spanhook_runs_open", "trace_id", sqlite_where=text("NOT ended"), postgresql_where=text("NOT ended")),
    Index(
        "ix_spanhook_runs_running", "start_ns", "id", sqlite_where=text("NOT ended"), postgresql_where=text("NOT ended")
    ),
    Index(None, "updated_ns"),
)
"""Runs, derived from spans and log events."""

run_models = Table(
    "spanhook_run_models",
    metadata,
    text_column("model", key=True),
    number("start_ns", key=True),
    number("run", key=True),
    Index(None, "run"),
)
"""Which models runs used: an index."""

run_hooks = Table(
    "spanhook_run_hooks",
    metadata,
    text_column("hook", key=True),
    number("start_ns", key=True),
    number("run", key=True),
    Index(None, "run"),
)
"""Which hooks decided in runs: an index."""

usage = Table(
    "spanhook_usage",
    metadata,
    number("day", key=True),
    text_column("tenant_id", key=True),
    text_column("user_id", key=True),
    text_column("agent", key=True),
    text_column("model", key=True),
    number("calls"),
    number("input_tokens"),
    number("output_tokens"),
    number("cache_read_tokens"),
    number("cache_write_tokens"),
    number("reasoning_tokens"),
    number("unpriced_tokens"),
    number("cost_nano"),
    Index(None, "tenant_id", "day"),
)
"""Usage by day (since the epoch), tenant, user, agent and model."""
