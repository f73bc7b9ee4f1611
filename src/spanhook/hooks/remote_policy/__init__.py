"""Asks a policy engine or a guardrail service whether a call may be made, and does what it says.

Answers are read strictly: what is not understood denies. Only what is named leaves the process.
"""

from spanhook.hooks.remote_policy._contexts import ContextService
from spanhook.hooks.remote_policy._hook import RemotePolicy
from spanhook.hooks.remote_policy._verdict import (
    PolicyError,
    PolicyNotAsked,
    PolicyOverloaded,
    PolicyRefusesRequest,
    PolicyTimeout,
    PolicyUnreachable,
    UnreadableAnswer,
    Unsendable,
    Verdict,
)

__all__ = [
    "ContextService",
    "PolicyError",
    "PolicyNotAsked",
    "PolicyOverloaded",
    "PolicyRefusesRequest",
    "PolicyTimeout",
    "PolicyUnreachable",
    "RemotePolicy",
    "UnreadableAnswer",
    "Unsendable",
    "Verdict",
]
