"""The tables of the control plane: what it is told, and what it manages.

All times are whole nanoseconds since the epoch (``..._ns``), all money whole billionths of a US dollar (``..._nano``).
``tenant_id`` is empty for what belongs to no tenant. ``owner`` is the tenant of whoever sent the telemetry, which it
cannot choose: rows of different owners never meet, whatever ids they have.
"""

from spanhook.store.control.tables._base import metadata
from spanhook.store.control.tables._jobs import job_events, jobs, schedules
from spanhook.store.control.tables._managed import (
    api_keys,
    audit,
    hook_history,
    hooks,
    policies,
    processes,
    revisions,
    settings,
)
from spanhook.store.control.tables._telemetry import (
    decisions,
    execution_logs,
    hook_statistics,
    logs,
    metrics,
    resources,
    run_hooks,
    run_models,
    runs,
    spans,
    usage,
)
from spanhook.store.control.tables._webhooks import webhook_deliveries, webhooks

__all__ = [
    "api_keys",
    "audit",
    "decisions",
    "execution_logs",
    "hook_history",
    "hook_statistics",
    "hooks",
    "job_events",
    "jobs",
    "logs",
    "metadata",
    "metrics",
    "policies",
    "processes",
    "resources",
    "revisions",
    "run_hooks",
    "run_models",
    "runs",
    "schedules",
    "settings",
    "spans",
    "usage",
    "webhook_deliveries",
    "webhooks",
]
