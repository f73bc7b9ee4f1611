"""One call from start to end. Knows no library."""

from spanhook.engine._callbacks import acalled_back, called_back
from spanhook.engine._contexts import OperationContext
from spanhook.engine._inner_windows import inner_stream
from spanhook.engine._own_blocks import OperationBlock
from spanhook.engine._own_functions import is_agent
from spanhook.engine._own_operation import OwnOperation
from spanhook.engine.admission import AdmittedRuns
from spanhook.engine.arriving import arrive
from spanhook.engine.attempts import aattempt, attempt
from spanhook.engine.beginning import begun
from spanhook.engine.calls import acall, acall_for, call, call_for, call_inside
from spanhook.engine.foreign import FOREIGN_KINDS, bound_libraries, repeats, swallowing
from spanhook.engine.handover import handed_out, lazy
from spanhook.engine.lifecycle import listeners, registry
from spanhook.engine.managing import AsyncManaged, Managed
from spanhook.engine.own_code import (
    agent,
    function_driver,
    operation,
    operation_for,
    record_usage,
    register_kind,
    tool,
)
from spanhook.engine.processor import attach, detach, joined, listening
from spanhook.engine.receiving import hear, look_for
from spanhook.engine.turns import acall_turn

__all__ = [
    "FOREIGN_KINDS",
    "AdmittedRuns",
    "AsyncManaged",
    "Managed",
    "OperationBlock",
    "OperationContext",
    "OwnOperation",
    "aattempt",
    "acall",
    "acall_for",
    "acall_turn",
    "acalled_back",
    "agent",
    "arrive",
    "attach",
    "attempt",
    "begun",
    "bound_libraries",
    "call",
    "call_for",
    "call_inside",
    "called_back",
    "detach",
    "function_driver",
    "handed_out",
    "hear",
    "inner_stream",
    "is_agent",
    "joined",
    "lazy",
    "listeners",
    "listening",
    "look_for",
    "operation",
    "operation_for",
    "record_usage",
    "register_kind",
    "registry",
    "repeats",
    "swallowing",
    "tool",
]
