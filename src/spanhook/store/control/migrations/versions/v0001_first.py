"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TABLES = {
    "spanhook_api_keys": (
        "*key_id:text hash:text name:text tenant_id:text scopes:json created_by:text "
        "created_ns:number expires_ns:number revoked_ns:number used_ns:number"
    ),
    "spanhook_audit": (
        "*sequence:number tenant_id:text time_ns:number actor:text action:text subject:text "
        "entry:text prev:text hash:text"
    ),
    "spanhook_decisions": (
        "*id:counted key:bytes owner:text tenant_id:text run_id:text trace_id:bytes span_id:bytes "
        "hook:text event_type:text decision:text reason:text mode:text fail_mode:text coverage:text "
        "kind:text target:text agent:text user_id:text status_code:number elapsed_ns:number "
        "time_ns:number received_ns:number"
    ),
    "spanhook_execution_logs": (
        "*id:counted log_id:text tenant_id:text event_type:text name:text mode:text request_id:text "
        "aborted:flag abort_reason:text duration_ns:number time_ns:number received_ns:number "
        "results:json"
    ),
    "spanhook_hook_history": (
        "*id:counted hook_id:text tenant_id:text version:number action:text actor:text definition:json time_ns:number"
    ),
    "spanhook_hook_statistics": (
        "*hour:number *tenant_id:text *hook:text *event_type:text executions:number failures:number "
        "rejections:number buckets:json"
    ),
    "spanhook_hooks": (
        "*hook_id:text tenant_id:text name:text event_type:text priority:number enabled:flag "
        "version:number definition:json created_ns:number updated_ns:number"
    ),
    "spanhook_logs": (
        "*id:counted digest:bytes owner:text tenant_id:text trace_id:bytes span_id:bytes "
        "event_name:text severity:number body:text time_ns:number scope:text resource:bytes "
        "data:bytes received_ns:number"
    ),
    "spanhook_metrics": (
        "*series:bytes *time_ns:number owner:text name:text unit:text type:text attributes:json "
        "value:json resource:bytes received_ns:number"
    ),
    "spanhook_policies": (
        "*version:counted tenant_id:text content:text digest:text actor:text comment:text created_ns:number"
    ),
    "spanhook_processes": (
        "*process_id:text tenant_id:text service:text host:text pid:number version:text "
        "revision:number digest:text hooks:json problems:json first_seen_ns:number "
        "last_seen_ns:number"
    ),
    "spanhook_resources": ("*digest:bytes service:text data:bytes time_ns:number"),
    "spanhook_revisions": ("*tenant_id:text revision:number changed_ns:number"),
    "spanhook_run_hooks": ("*hook:text *start_ns:number *run:number"),
    "spanhook_run_models": ("*model:text *start_ns:number *run:number"),
    "spanhook_runs": (
        "*id:counted owner:text run_id:text trace_id:bytes root_id:bytes root_parent_id:bytes "
        "told:flag tenant_id:text user_id:text session_id:text agent:text service:text name:text "
        "kind:text status:text error_type:text ended:flag start_ns:number end_ns:number spans:number "
        "decisions:number input_tokens:number output_tokens:number cost_nano:number "
        "unpriced_tokens:number llm_calls:number tool_calls:number by_model:json "
        "updated_ns:number"
    ),
    "spanhook_settings": ("*key:text value:json updated_ns:number"),
    "spanhook_spans": (
        "*id:counted trace_id:bytes span_id:bytes parent_id:bytes owner:text tenant_id:text "
        "run_id:text kind:text status:text name:text start_ns:number end_ns:number scope:text "
        "resource:bytes data:bytes received_ns:number"
    ),
    "spanhook_usage": (
        "*day:number *tenant_id:text *user_id:text *agent:text *model:text calls:number "
        "input_tokens:number output_tokens:number cache_read_tokens:number cache_write_tokens:number "
        "reasoning_tokens:number unpriced_tokens:number cost_nano:number"
    ),
}
"""The columns of each table: ``*`` is part of its key, and ``counted`` a key that grows with each row."""
_INDEXES = (
    ("ix_spanhook_api_keys_tenant_id", "spanhook_api_keys", "tenant_id", False, ""),
    ("uq_spanhook_api_keys_hash", "spanhook_api_keys", "hash", True, ""),
    ("ix_spanhook_audit_tenant_id_sequence", "spanhook_audit", "tenant_id sequence", False, ""),
    ("ix_spanhook_decisions_agent_time_ns_id", "spanhook_decisions", "agent time_ns id", False, ""),
    ("ix_spanhook_decisions_event_type_time_ns_id", "spanhook_decisions", "event_type time_ns id", False, ""),
    ("ix_spanhook_decisions_mode_time_ns_id", "spanhook_decisions", "mode time_ns id", False, ""),
    ("ix_spanhook_decisions_user_id_time_ns_id", "spanhook_decisions", "user_id time_ns id", False, ""),
    ("ix_spanhook_decisions_decision_time_ns_id", "spanhook_decisions", "decision time_ns id", False, ""),
    ("ix_spanhook_decisions_hook_time_ns_id", "spanhook_decisions", "hook time_ns id", False, ""),
    ("ix_spanhook_decisions_received_ns", "spanhook_decisions", "received_ns", False, ""),
    ("ix_spanhook_decisions_run_id", "spanhook_decisions", "run_id", False, ""),
    ("ix_spanhook_decisions_tenant_id_time_ns_id", "spanhook_decisions", "tenant_id time_ns id", False, ""),
    ("ix_spanhook_decisions_time_ns_id", "spanhook_decisions", "time_ns id", False, ""),
    ("uq_spanhook_decisions_key", "spanhook_decisions", "key", True, ""),
    ("ix_spanhook_execution_logs_event_type_id", "spanhook_execution_logs", "event_type id", False, ""),
    ("ix_spanhook_execution_logs_received_ns", "spanhook_execution_logs", "received_ns", False, ""),
    (
        "ix_spanhook_execution_logs_tenant_id_event_type_id",
        "spanhook_execution_logs",
        "tenant_id event_type id",
        False,
        "",
    ),
    ("ix_spanhook_execution_logs_tenant_id_id", "spanhook_execution_logs", "tenant_id id", False, ""),
    ("uq_spanhook_execution_logs_log_id", "spanhook_execution_logs", "log_id tenant_id", True, ""),
    ("ix_spanhook_hook_history_hook_id_id", "spanhook_hook_history", "hook_id id", False, ""),
    ("ix_spanhook_hooks_created_ns_hook_id", "spanhook_hooks", "created_ns hook_id", False, ""),
    (
        "ix_spanhook_hooks_event_type_created_ns_hook_id",
        "spanhook_hooks",
        "event_type created_ns hook_id",
        False,
        "",
    ),
    ("ix_spanhook_hooks_tenant_id_event_type", "spanhook_hooks", "tenant_id event_type", False, ""),
    ("ix_spanhook_logs_received_ns", "spanhook_logs", "received_ns", False, ""),
    ("ix_spanhook_logs_trace_id", "spanhook_logs", "trace_id", False, ""),
    ("uq_spanhook_logs_digest", "spanhook_logs", "digest", True, ""),
    ("ix_spanhook_metrics_name_time_ns", "spanhook_metrics", "name time_ns", False, ""),
    ("ix_spanhook_metrics_received_ns", "spanhook_metrics", "received_ns", False, ""),
    ("ix_spanhook_policies_tenant_id_version", "spanhook_policies", "tenant_id version", False, ""),
    ("ix_spanhook_processes_last_seen_ns", "spanhook_processes", "last_seen_ns", False, ""),
    ("ix_spanhook_processes_tenant_id_last_seen_ns", "spanhook_processes", "tenant_id last_seen_ns", False, ""),
    ("ix_spanhook_run_hooks_run", "spanhook_run_hooks", "run", False, ""),
    ("ix_spanhook_run_models_run", "spanhook_run_models", "run", False, ""),
    ("ix_spanhook_runs_agent_start_ns_id", "spanhook_runs", "agent start_ns id", False, ""),
    ("ix_spanhook_runs_error_type_start_ns_id", "spanhook_runs", "error_type start_ns id", False, ""),
    ("ix_spanhook_runs_name_start_ns_id", "spanhook_runs", "name start_ns id", False, ""),
    ("ix_spanhook_runs_open", "spanhook_runs", "trace_id", False, "NOT ended"),
    ("ix_spanhook_runs_running", "spanhook_runs", "start_ns id", False, "NOT ended"),
    ("ix_spanhook_runs_start_ns_id", "spanhook_runs", "start_ns id", False, ""),
    ("ix_spanhook_runs_service_start_ns_id", "spanhook_runs", "service start_ns id", False, ""),
    ("ix_spanhook_runs_session_id_start_ns_id", "spanhook_runs", "session_id start_ns id", False, ""),
    ("ix_spanhook_runs_status_start_ns_id", "spanhook_runs", "status start_ns id", False, ""),
    ("ix_spanhook_runs_tenant_id_start_ns_id", "spanhook_runs", "tenant_id start_ns id", False, ""),
    ("ix_spanhook_runs_updated_ns", "spanhook_runs", "updated_ns", False, ""),
    ("ix_spanhook_runs_user_id_start_ns_id", "spanhook_runs", "user_id start_ns id", False, ""),
    ("uq_spanhook_runs_run_id", "spanhook_runs", "run_id owner", True, ""),
    ("ix_spanhook_spans_received_ns", "spanhook_spans", "received_ns", False, ""),
    ("uq_spanhook_spans_ids", "spanhook_spans", "trace_id span_id owner", True, ""),
    ("ix_spanhook_usage_tenant_id_day", "spanhook_usage", "tenant_id day", False, ""),
)
"""Name, table, columns, whether it is unique, and for which rows it is."""
_BY_BYTES = {"run_id", "user_id", "session_id"}
"""Columns of runs that are searched for how they begin."""
_TYPES = {"text": sa.Text(), "json": sa.Text(), "bytes": sa.LargeBinary(), "flag": sa.Boolean()}
_GIVEN = {"text": "", "json": "null", "number": sa.text("0"), "flag": sa.text("false")}


def upgrade() -> None:
    """Create all tables."""
    for table, columns in _TABLES.items():
        op.create_table(table, *(_column(*word.split(":")) for word in columns.split()))
    for name, table, columns, unique, where in _INDEXES:
        only: dict[str, Any] = {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)} if where else {}
        if table == "spanhook_runs":
            only["postgresql_ops"] = dict.fromkeys(_BY_BYTES & {*columns.split()}, "text_pattern_ops")
        op.create_index(name, table, columns.split(), unique=unique, **only)


def _column(name: str, sort: str) -> sa.Column[object]:
    key = name.startswith("*")
    return sa.Column(
        name.removeprefix("*"),
        _TYPES.get(sort, _BIG),
        primary_key=key,
        autoincrement=sort == "counted",
        nullable=False,
        server_default=None if key else _GIVEN.get(sort),
    )
