"""The web pages: runs, decisions, jobs, schedules, usage, budgets, hooks, approvals and webhooks for people.

They call the functions of the HTTP API's routes, and so ask for the same scopes and show the same tenants.
"""

from fastapi import APIRouter

from spanhook.server.pages import (
    approvals,
    budgets,
    decisions,
    dry_runs,
    entrance,
    hooks,
    jobs,
    live,
    openid,
    runs,
    schedules,
    usage,
    webhooks,
)
from spanhook.server.pages.problem import problem_page

PAGE_ROUTERS: tuple[APIRouter, ...] = (
    entrance.router,
    openid.router,
    live.router,
    runs.router,
    decisions.router,
    jobs.router,
    schedules.router,
    usage.router,
    budgets.router,
    dry_runs.router,
    hooks.router,
    approvals.router,
    webhooks.router,
)

__all__ = ["PAGE_ROUTERS", "problem_page"]
