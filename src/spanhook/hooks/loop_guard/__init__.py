"""Stops agents that repeat themselves, or never come to an end."""

from spanhook.hooks.loop_guard._hook import LoopGuard

__all__ = ["LoopGuard"]
