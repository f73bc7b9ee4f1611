"""Exceptions of workflows that are no errors: a step waits for an event, such as what a person says; a run was
cancelled.

Recognized by name, so that unrelated exceptions cause no import.
"""

from typing import Literal

_STATUSES: dict[str, Literal["cancelled", "interrupted"]] = {
    "WaitingForEvent": "interrupted",
    "WorkflowCancelledByUser": "cancelled",
}


def control(error: BaseException) -> Literal["cancelled", "interrupted"] | None:
    """The status of an operation that such an exception has ended."""
    cls = type(error)
    return _STATUSES.get(cls.__name__) if cls.__module__.startswith("workflows.") else None
