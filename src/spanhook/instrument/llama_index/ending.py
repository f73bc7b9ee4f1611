"""The events of a run that hooks have ended: who reads them is told of that, as of the end of any other run.

The library tells of ends that come out of its steps. A run that hooks refuse, answer or stop has none of these.
"""

import asyncio
import traceback
from typing import Any

from workflows.events import StopEvent, WorkflowFailedEvent

from spanhook.errors import Reject, RunStopped


def started(_instance: Any, _args: Any, _kwargs: Any, adapter: Any) -> None:
    """A run has begun in a task."""
    queues = getattr(adapter, "_queues", None)
    task = getattr(queues, "complete", None)
    if isinstance(task, asyncio.Task):
        task.add_done_callback(lambda ended: _tell(queues, ended))


def _tell(queues: Any, ended: "asyncio.Task[Any]") -> None:
    if ended.cancelled():
        return
    error = ended.exception()
    if error is not None and _is_untold(queues, error):
        queues.publish_queue.put_nowait(failed(error))
    elif error is None and not queues.ticks and isinstance(ended.result(), StopEvent):
        queues.publish_queue.put_nowait(ended.result())


def _is_untold(queues: Any, error: BaseException) -> bool:
    """Whether the library has not told of a rejection: it did not come out of a step as an exception of that."""
    if not isinstance(error, Reject | RunStopped):
        return False
    last = queues.ticks[-1] if queues.ticks else None
    return all(type(one).__name__ != "StepWorkerFailed" for one in getattr(last, "result", None) or ())


def failed(error: BaseException) -> WorkflowFailedEvent:
    """The event of a run that has failed; older versions describe the exception, newer ones have it in the event."""
    error = error.reject if isinstance(error, RunStopped) else error
    kind = type(error)
    told: dict[str, Any] = {
        "exception": error,
        "exception_type": f"{kind.__module__}.{kind.__qualname__}",
        "exception_message": str(error),
        "traceback": "".join(traceback.format_exception_only(error)),
        "step_name": "",
        "attempts": 1,
        "elapsed_seconds": 0.0,
    }
    return WorkflowFailedEvent(**{name: one for name, one in told.items() if name in WorkflowFailedEvent.model_fields})
