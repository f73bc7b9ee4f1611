"""The turns of an agent's loop, with a memory: each starts with what is worth knowing, and what came of it is kept.

An iteration is an operation of the kind ``iteration``, which hooks gate like any other. It knows no library.
"""

from spanhook.iterations._block import Iteration
from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import Handler, HookContext, HookEvent, HookResult
from spanhook.iterations._hooks import IterationHooks
from spanhook.store import Frame, FrameMemory, MemoryFrames, SessionStatistics, SQLiteFrames

__all__ = [
    "Frame",
    "FrameMemory",
    "Handler",
    "HookConfig",
    "HookContext",
    "HookEvent",
    "HookResult",
    "Iteration",
    "IterationHooks",
    "MemoryFrames",
    "SQLiteFrames",
    "SessionStatistics",
]
