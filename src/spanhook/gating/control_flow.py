"""Exceptions that are not errors but control flow of a library, such as a pause.

Each instrumentor defines them for its library. They pass through operations of every library, so each exception is
checked against all of them.
"""

from collections.abc import Callable
from typing import Literal

Control = Callable[[BaseException], Literal["cancelled", "interrupted", "success"] | None]
"""Returns the status of an operation that an exception has ended; ``None`` if the exception is an error."""

controls: list[Control] = []
"""The functions of the instrumented libraries."""


def control(error: BaseException) -> Literal["cancelled", "interrupted", "success"] | None:
    """The status of an operation that ``error`` has ended; ``None`` if it is an error."""
    for of_library in controls:
        status = of_library(error)
        if status is not None:
            return status
    return None
