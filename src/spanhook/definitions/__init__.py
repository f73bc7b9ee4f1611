"""Hooks as middleware and as data: typed contexts, definitions, a registry, a log and statistics.

It needs ``pip install "spanhook[policies]"``. Its hooks run in the same chain as all others.
"""

from importlib.util import find_spec

if find_spec("pydantic") is None or find_spec("yaml") is None:
    raise ImportError('spanhook.definitions needs pydantic and PyYAML: pip install "spanhook[policies]"')

from spanhook.definitions.context import HookContext
from spanhook.definitions.contexts import (
    AgentHookContext,
    LLMHookContext,
    MemoryHookContext,
    OperationHookContext,
    ToolContext,
    ToolHookContext,
    WorkflowHookContext,
)
from spanhook.definitions.definition import HookDefinition
from spanhook.definitions.directory import load_definitions
from spanhook.definitions.entries import RegisteredHook
from spanhook.definitions.handler_refs import AllowList
from spanhook.definitions.in_force import get_registry, set_registry
from spanhook.definitions.middleware import CallNext, HookAbortError, Middleware
from spanhook.definitions.registry import HookRegistry
from spanhook.definitions.requests import RequestHookContext
from spanhook.definitions.statistics import HookStatistics, RegistryStatistics
from spanhook.gating import HookChainResult, HookExecutionLog, HookResult, handler

__all__ = [
    "AgentHookContext",
    "AllowList",
    "CallNext",
    "HookAbortError",
    "HookChainResult",
    "HookContext",
    "HookDefinition",
    "HookExecutionLog",
    "HookRegistry",
    "HookResult",
    "HookStatistics",
    "LLMHookContext",
    "MemoryHookContext",
    "Middleware",
    "OperationHookContext",
    "RegisteredHook",
    "RegistryStatistics",
    "RequestHookContext",
    "ToolContext",
    "ToolHookContext",
    "WorkflowHookContext",
    "get_registry",
    "handler",
    "load_definitions",
    "set_registry",
]
