"""Stops calling models and tools that keep failing, and tries them again after a while."""

from spanhook.hooks.circuit_breaker._circuit import Circuit, Permit, Rules
from spanhook.hooks.circuit_breaker._hook import CircuitBreaker

__all__ = ["Circuit", "CircuitBreaker", "Permit", "Rules"]
