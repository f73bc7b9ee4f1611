"""Asks a person before a tool runs."""

from spanhook.hooks.approval._config import Asking
from spanhook.hooks.approval._hook import Approval, NotApproved

__all__ = ["Approval", "Asking", "NotApproved"]
