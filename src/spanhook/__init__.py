"""Hooks for AI agents, as OpenTelemetry span processors."""

from spanhook.config import instrument, uninstrument
from spanhook.context import Identity, context
from spanhook.current import current_operation
from spanhook.decision import DecisionRecord
from spanhook.errors import ConfigurationError, HookError, RequirementError, SealedError, SpanhookError, UnboundError
from spanhook.hook import Hook, Reject
from spanhook.operation import Operation
from spanhook.registry import Hooks
from spanhook.resources import per_loop
from spanhook.settings import Settings
from spanhook.shape import Request, Response
from spanhook.usage import Usage
from spanhook.version import __version__

__all__ = [
    "ConfigurationError",
    "DecisionRecord",
    "Hook",
    "HookError",
    "Hooks",
    "Identity",
    "Operation",
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
    "context",
    "current_operation",
    "instrument",
    "per_loop",
    "uninstrument",
]
