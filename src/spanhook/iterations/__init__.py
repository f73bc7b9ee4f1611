"""Turns of an agent's loop, with a memory: a turn starts with frames from earlier turns, and its result is stored.

An iteration is an operation of the kind ``iteration``, which hooks gate like any other. This package knows no library.
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
