"""Exceptions of Haystack that are no errors: a pipeline or agent has stopped at a breakpoint, to go on later.

Recognized by name, so that unrelated exceptions cause no import.
"""

from typing import Literal


def control(error: BaseException) -> Literal["interrupted"] | None:
    """The status of an operation that such an exception has ended."""
    cls = type(error)
    if cls.__name__.endswith("BreakpointException") and cls.__module__.startswith("haystack."):
        return "interrupted"
    return None
