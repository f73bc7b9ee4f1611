"""The tables of the control plane: what it is told, and what it manages.

All times are whole nanoseconds since the epoch (``..._ns``), all money whole billionths of a US dollar (``..._nano``).
``tenant_id`` is empty for what belongs to no tenant. ``owner`` is the tenant of whoever sent the telemetry, which it
cannot choose: rows of different owners never meet, whatever ids they have.
"""

from sqlalchemy import Boolean, Column, Index, LargeBinary, MetaData, Table, text

from spanhook.store.control.columns import Big, Json, SafeText

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"},
)


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, SafeText, primary_key=key, nullable=False, server_default=None if key else "")


def _number(name: str, *, key: bool = False) -> Column[int]:
    given = None if key else text("0")
    return Column(name, Big, primary_key=key, nullable=False, server_default=given, autoincrement=False)


def _counted(name: str = "id") -> Column[int]:
    """A key that grows with each row."""
    return Column(name, Big, primary_key=True, autoincrement=True)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _json(name: str) -> Column[object]:
    return Column(name, Json, nullable=False, server_default="null")


def _bytes(name: str, *, key: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, primary_key=key, nullable=False)


# --------------------------------------------------------------------------- what is managed

hooks = Table(
    "spanhook_hooks",
    metadata,
    _text("hook_id", key=True),
    _text("tenant_id"),
    _text("name"),
    _text("event_type"),
    _number("priority"),
    _flag("enabled"),
    _number("version"),
    _json("definition"),
    _number("created_ns"),
    _number("updated_ns"),
    Index(None, "tenant_id", "event_type"),
    Index(None, "created_ns", "hook_id"),
    comment="Definitions of hooks, as they are now",
)

hook_history = Table(
    "spanhook_hook_history",
    metadata,
    _counted(),
    _text("hook_id"),
    _text("tenant_id"),
    _number("version"),
    _text("action"),
    _text("actor"),
    _json("definition"),
    _number("time_ns"),
    Index(None, "hook_id", "id"),
    comment="What definitions of hooks were; those that are deleted too",
)

policies = Table(
    "spanhook_policies",
    metadata,
    _counted("version"),
    _text("tenant_id"),
    _text("content"),
    _text("digest"),
    _text("actor"),
    _text("comment"),
    _number("created_ns"),
    Index(None, "tenant_id", "version"),
    comment="Every version of the policies; the highest one of a tenant is in force",
)

revisions = Table(
    "spanhook_revisions",
    metadata,
    _text("tenant_id", key=True),
    _number("revision"),
    _number("changed_ns"),
    comment="How often what a tenant's processes enforce has changed",
)

processes = Table(
    "spanhook_processes",
    metadata,
    _text("process_id", key=True),
    _text("tenant_id"),
    _text("service"),
    _text("host"),
    _number("pid"),
    _text("version"),
    _number("revision"),
    _text("digest"),
    _json("hooks"),
    _json("problems"),
    _number("first_seen_ns"),
    _number("last_seen_ns"),
    Index(None, "tenant_id", "last_seen_ns"),
    Index(None, "last_seen_ns"),
    comment="Processes of agents that follow this server, and the hooks registered in their code",
)

api_keys = Table(
    "spanhook_api_keys",
    metadata,
    _text("key_id", key=True),
    _text("hash"),
    _text("name"),
    _text("tenant_id"),
    _json("scopes"),
    _text("created_by"),
    _number("created_ns"),
    _number("expires_ns"),
    _number("revoked_ns"),
    _number("used_ns"),
    Index("uq_spanhook_api_keys_hash", "hash", unique=True),
    Index(None, "tenant_id"),
    comment="API keys, of which only hashes are kept",
)

audit = Table(
    "spanhook_audit",
    metadata,
    Column("sequence", Big, primary_key=True, autoincrement=False),
    _text("tenant_id"),
    _number("time_ns"),
    _text("actor"),
    _text("action"),
    _text("subject"),
    _text("entry"),
    _text("prev"),
    _text("hash"),
    Index(None, "tenant_id", "sequence"),
    comment="Every change; entry is the record as canonical JSON, prev and hash chain them",
)

settings = Table(
    "spanhook_settings",
    metadata,
    _text("key", key=True),
    _json("value"),
    _number("updated_ns"),
    comment="What the server itself remembers",
)

# --------------------------------------------------------------------------- what hooks did

execution_logs = Table(
    "spanhook_execution_logs",
    metadata,
    _counted(),
    _text("log_id"),
    _text("tenant_id"),
    _text("event_type"),
    _text("name"),
    _text("mode"),
    _text("request_id"),
    _flag("aborted"),
    _text("abort_reason"),
    _number("duration_ns"),
    _number("time_ns"),
    _number("received_ns"),
    _json("results"),
    Index("uq_spanhook_execution_logs_log_id", "log_id", "tenant_id", unique=True),
    Index(None, "tenant_id", "id"),
    Index(None, "event_type", "id"),
    Index(None, "received_ns"),
    comment="Runs of chains of hooks",
)

hook_statistics = Table(
    "spanhook_hook_statistics",
    metadata,
    _number("hour", key=True),
    _text("tenant_id", key=True),
    _text("hook", key=True),
    _text("event_type", key=True),
    _number("bucket", key=True),
    _number("executions"),
    _number("failures"),
    _number("rejections"),
    comment="Executions of hooks by hour (since the epoch) and bucket of duration",
)

decisions = Table(
    "spanhook_decisions",
    metadata,
    _counted(),
    _bytes("key"),
    _text("owner"),
    _text("tenant_id"),
    _text("run_id"),
    _bytes("trace_id"),
    _bytes("span_id"),
    _text("hook"),
    _text("event_type"),
    _text("decision"),
    _text("reason"),
    _text("mode"),
    _text("fail_mode"),
    _text("coverage"),
    _text("kind"),
    _text("target"),
    _text("agent"),
    _text("user_id"),
    _number("status_code"),
    _number("elapsed_ns"),
    _number("time_ns"),
    _number("received_ns"),
    Index("uq_spanhook_decisions_key", "key", unique=True),
    Index(None, "time_ns", "id"),
    Index(None, "tenant_id", "time_ns", "id"),
    Index(None, "hook", "time_ns", "id"),
    Index(None, "decision", "time_ns", "id"),
    Index(None, "run_id"),
    Index(None, "received_ns"),
    comment="Decisions of hooks except allow, each once, from log events and from span events",
)

# --------------------------------------------------------------------------- telemetry

resources = Table(
    "spanhook_resources",
    metadata,
    _bytes("digest", key=True),
    _text("service"),
    _bytes("data"),
    _number("time_ns"),
    comment="Resources of OTLP, serialized, each once",
)

spans = Table(
    "spanhook_spans",
    metadata,
    _counted(),
    _bytes("trace_id"),
    _bytes("span_id"),
    _bytes("parent_id"),
    _text("owner"),
    _text("tenant_id"),
    _text("run_id"),
    _text("kind"),
    _text("status"),
    _text("name"),
    _number("start_ns"),
    _number("end_ns"),
    _text("scope"),
    _bytes("resource"),
    _bytes("data"),
    _number("received_ns"),
    Index("uq_spanhook_spans_ids", "trace_id", "span_id", "owner", unique=True),
    Index(None, "received_ns"),
    comment="Spans; data is the span of OTLP, serialized",
)

logs = Table(
    "spanhook_logs",
    metadata,
    _counted(),
    _bytes("digest"),
    _text("owner"),
    _text("tenant_id"),
    _bytes("trace_id"),
    _bytes("span_id"),
    _text("event_name"),
    _number("severity"),
    _text("body"),
    _number("time_ns"),
    _text("scope"),
    _bytes("resource"),
    _bytes("data"),
    _number("received_ns"),
    Index("uq_spanhook_logs_digest", "digest", unique=True),
    Index(None, "trace_id"),
    Index(None, "received_ns"),
    comment="Log records; data is the record of OTLP, serialized",
)

metrics = Table(
    "spanhook_metrics",
    metadata,
    _bytes("series", key=True),
    _number("time_ns", key=True),
    _text("owner"),
    _text("name"),
    _text("unit"),
    _text("type"),
    _json("attributes"),
    _json("value"),
    _bytes("resource"),
    _number("received_ns"),
    Index(None, "name", "time_ns"),
    Index(None, "received_ns"),
    comment="Data points of metrics; series is a digest of all that tells series apart",
)

_RUN_FILTERS = ("tenant_id", "status", "agent", "user_id")

runs = Table(
    "spanhook_runs",
    metadata,
    _counted(),
    _text("owner"),
    _text("run_id"),
    _bytes("trace_id"),
    _bytes("root_id"),
    _bytes("root_parent_id"),
    _flag("told"),
    _text("tenant_id"),
    _text("user_id"),
    _text("session_id"),
    _text("agent"),
    _text("service"),
    _text("name"),
    _text("kind"),
    _text("status"),
    _text("error_type"),
    _flag("ended"),
    _number("start_ns"),
    _number("end_ns"),
    _number("spans"),
    _number("decisions"),
    _number("input_tokens"),
    _number("output_tokens"),
    _number("cost_nano"),
    _number("unpriced_tokens"),
    _number("llm_calls"),
    _number("tool_calls"),
    _json("by_model"),
    _text("search"),
    _number("updated_ns"),
    Index("uq_spanhook_runs_run_id", "run_id", "owner", unique=True),
    Index(None, "start_ns", "id"),
    *(Index(None, name, "start_ns", "id") for name in _RUN_FILTERS),
    # Most runs are whole when they are first written: an index of all trace ids would cost more than all others.
    Index("ix_spanhook_runs_open", "trace_id", sqlite_where=text("NOT ended"), postgresql_where=text("NOT ended")),
    Index(None, "updated_ns"),
    comment="Runs, derived from spans and log events",
)

run_models = Table(
    "spanhook_run_models",
    metadata,
    _text("model", key=True),
    _number("start_ns", key=True),
    _number("run", key=True),
    Index(None, "run"),
    comment="Which models runs used: an index",
)

run_hooks = Table(
    "spanhook_run_hooks",
    metadata,
    _text("hook", key=True),
    _number("start_ns", key=True),
    _number("run", key=True),
    Index(None, "run"),
    comment="Which hooks decided in runs: an index",
)

usage = Table(
    "spanhook_usage",
    metadata,
    _number("day", key=True),
    _text("tenant_id", key=True),
    _text("user_id", key=True),
    _text("agent", key=True),
    _text("model", key=True),
    _number("calls"),
    _number("input_tokens"),
    _number("output_tokens"),
    _number("cache_read_tokens"),
    _number("cache_write_tokens"),
    _number("reasoning_tokens"),
    _number("unpriced_tokens"),
    _number("cost_nano"),
    Index(None, "tenant_id", "day"),
    comment="Usage by day (since the epoch), tenant, user, agent and model",
)
