"""The routes of the HTTP API, one module for each subject."""

from fastapi import APIRouter

from spanhook.server.routes import health, hooks

ROUTERS: tuple[APIRouter, ...] = (health.router, hooks.router)

__all__ = ["ROUTERS"]
