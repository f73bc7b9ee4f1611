"""The routes of the HTTP API, one module for each subject."""

from fastapi import APIRouter

from spanhook.server.routes import (
    agents,
    approvals,
    budgets,
    health,
    hooks,
    jobs,
    policies,
    runs,
    schedules,
    sync,
    telemetry,
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

__all__ = ["OPEN", "ROUTERS"]
