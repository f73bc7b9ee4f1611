"""What may leave a call as an exception and is no error: the control flow of libraries, such as a pause.

Each instrumentor says of its library which exceptions these are. They pass through operations of every library, so all
are asked about each.
"""

from collections.abc import Callable
from typing import Literal

Control = Callable[[BaseException], Literal["interrupted", "success"] | None]
"""The status of an operation that was left by an exception; ``None`` where that is an error."""

controls: list[Control] = []
"""Those of the libraries that are instrumented."""


def control(error: BaseException) -> Literal["interrupted", "success"] | None:
    """The status of an operation that was left by ``error``; ``None`` where that is an error."""
    for of_library in controls:
        status = of_library(error)
        if status is not None:
            return status
    return None
