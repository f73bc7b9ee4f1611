"""Asks the framework that runs an operation to pause it until a person has answered.

Instrumentors say how, for frameworks that can: they save where they are, and run the operation again with the answer.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Pausable(NamedTuple):
    """What runs here can be paused.

    Attributes:
        place: The place in the run: the same each time it is run again, and different from all other places.
        ask: Pauses with a question, plain data, by the framework's own exception, which must be let through. After it,
            the hook runs again from its start, asks again, and gets the answer.
        signal: The class of that exception.
    """

    place: str
    ask: Callable[[Mapping[str, Any]], Any]
    signal: type[BaseException]


Pause = Callable[[], tuple[str, Callable[[Mapping[str, Any]], Any], type[BaseException]] | None]
"""What ``Pausable`` has; ``None`` if the library runs nothing here that can be paused."""

pauses: list[Pause] = []
"""The functions of the instrumented libraries."""


def pausable() -> Pausable | None:
    """How to pause what runs here; ``None`` if nothing can be paused."""
    for of_library in pauses:
        found = of_library()
        if found is not None:
            return Pausable(*found)
    return None
