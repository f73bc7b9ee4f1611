"""Exceptions of Pydantic AI that are no errors: a tool's call waits for a person, or for a result from elsewhere.

Recognized by name, so that unrelated exceptions cause no import.
"""

from typing import Literal

_PAUSES = ("ApprovalRequired", "CallDeferred")


def control(error: BaseException) -> Literal["interrupted"] | None:
    """The status of an operation that such an exception has ended."""
    cls = type(error)
    if cls.__name__ in _PAUSES and cls.__module__.startswith("pydantic_ai"):
        return "interrupted"
    return None
