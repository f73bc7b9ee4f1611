"""Hooks for whole runs: before one starts, after it has ended, and when it failed. Built on ``spanhook.Hooks``."""

from spanhook.runs.context import RunContext
from spanhook.runs.hooks import RejectRun, RunHooks
from spanhook.runs.in_force import get_hooks, get_hooks_timeout, set_hooks
from spanhook.runs.loading import from_aegra, from_mapping, load_hooks
from spanhook.runs.scope import RunScope, run_scope
from spanhook.runs.user import User

__all__ = [
    "RejectRun",
    "RunContext",
    "RunHooks",
    "RunScope",
    "User",
    "from_aegra",
    "from_mapping",
    "get_hooks",
    "get_hooks_timeout",
    "load_hooks",
    "run_scope",
    "set_hooks",
]
