"""Hooks for AI agents, as OpenTelemetry span processors."""

from spanhook.concurrency import per_loop
from spanhook.config import instrument, iteration_hooks, scheduler, uninstrument
from spanhook.engine import OwnOperation, agent, operation, record_usage, register_kind, tool
from spanhook.errors import (
    ConfigurationError,
    HookError,
    OperationError,
    Reject,
    RequirementError,
    SealedError,
    SpanhookError,
    UnboundError,
)
from spanhook.gating import Hook, Hooks
from spanhook.model import (
    DecisionRecord,
    Event,
    Identity,
    Operation,
    Request,
    Response,
    Usage,
    context,
    current_operation,
)
from spanhook.settings import Settings
from spanhook.telemetry import guardrail
from spanhook.version import __version__

__all__ = [
    "ConfigurationError",
    "DecisionRecord",
    "Event",
    "Hook",
    "HookError",
    "Hooks",
    "Identity",
    "Operation",
    "OperationError",
    "OwnOperation",
    "Reject",
    "Request",
    "RequirementError",
    "Response",
    "SealedError",
    "Settings",
    "SpanhookError",
    "UnboundError",
    "Usage",
    "__version__",
    "agent",
    "context",
    "current_operation",
    "guardrail",
    "instrument",
    "iteration_hooks",
    "operation",
    "per_loop",
    "record_usage",
    "register_kind",
    "scheduler",
    "tool",
    "uninstrument",
]
