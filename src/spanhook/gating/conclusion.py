"""How an operation has ended: its status and phase. This module knows nothing of hooks."""

from spanhook.concurrency import is_cancellation
from spanhook.diagnostics import internal
from spanhook.errors import Reject, RunStopped
from spanhook.gating.control_flow import control
from spanhook.model import NO_ENDING, EndDetails, Record


def conclude(op: Record) -> None:
    """Determine status and phase from ``op.error``."""
    error = op.error
    if op.run.stop is not None and op.parent is None and not op.foreign and not _is_from_outside(error):
        error = op.error = op.run.stop
    if error is None:
        op.phase = "post"
        if op.adapter.reading.fault is not None and ((fault := _fault(op)) or op.ending.fault):
            op.part(EndDetails).fault = fault
        ending = op.ending
        op.status = "success" if ending is NO_ENDING else ending.left or ("error" if ending.fault else "success")
        return
    if isinstance(error, RunStopped):
        error = op.error = error.reject
    if isinstance(error, Reject):
        op.phase, op.status = "error", "rejected"
    elif (status := control(error)) is not None:
        op.phase, op.status = "error" if status == "cancelled" else "post", status
    elif isinstance(error, KeyboardInterrupt) or is_cancellation(error):
        op.phase, op.status = "error", "cancelled"
    elif isinstance(error, GeneratorExit):
        op.phase, op.status = "post", "abandoned"
    else:
        op.phase, op.status = "error", "error"


def _fault(op: Record) -> str:
    """Why the result is an error, although nothing was raised."""
    assert op.adapter.reading.fault is not None
    try:
        return op.adapter.reading.fault(op.whole)
    except Exception as error:
        internal.report("extract.fault", error)
        return ""


def _is_from_outside(error: BaseException | None) -> bool:
    """Whether the error comes from outside the run; a rejection does not hide it."""
    return isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit) or is_cancellation(error)
