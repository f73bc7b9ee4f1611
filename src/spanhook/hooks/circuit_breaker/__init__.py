"""Stops calling models and tools that keep failing, and tries them again after a while."""

from spanhook.hooks.circuit_breaker._hook import CircuitBreaker

__all__ = ["CircuitBreaker"]
