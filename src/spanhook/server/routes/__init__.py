"""The routes of the HTTP API, one module for each subject."""

from fastapi import APIRouter

from spanhook.server.routes import (
    agents,
    approvals,
    budgets,
    dry_run_models,
    health,
    hook_models,
    hooks,
    job_models,
    jobs,
    policies,
    recorded,
    run_models,
    runs,
    schedules,
    sync,
    sync_models,
    telemetry,
    webhook_models,
    webhooks,
)

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    hooks.router,
    policies.router,
    sync.router,
    approvals.router,
    runs.router,
    budgets.router,
    agents.router,
    jobs.router,
    schedules.router,
    telemetry.router,
    webhooks.router,
)
OPEN = (health.router, telemetry.router)
"""Those whose callers, such as probes and exporters, may add query parameters of their own."""

__all__ = [
    "OPEN",
    "ROUTERS",
    "approvals",
    "budgets",
    "dry_run_models",
    "hook_models",
    "hooks",
    "job_models",
    "jobs",
    "recorded",
    "run_models",
    "runs",
    "schedules",
    "sync",
    "sync_models",
    "webhook_models",
    "webhooks",
]
