"""The routes of the HTTP API, one module for each subject."""

from fastapi import APIRouter

from spanhook.server.routes import approvals, budgets, health, hooks, policies, runs, sync, telemetry, webhooks

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    hooks.router,
    policies.router,
    sync.router,
    approvals.router,
    runs.router,
    budgets.router,
    telemetry.router,
    webhooks.router,
)

__all__ = ["ROUTERS"]
