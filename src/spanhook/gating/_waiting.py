"""Who is told that an operation waits for a person."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.diagnostics import internal
from spanhook.model import Operation

Told = Callable[[str, Mapping[str, Any]], None]
"""Called with the id of the run that waits, and with what it waits for, from any thread; it must not wait itself."""

waiting: list[Told] = []


def tell_waiting(op: Operation, about: Mapping[str, Any]) -> None:
    """Tell that an operation waits for a person.

    Args:
        op: The operation.
        about: Plain data about what it waits for.
    """
    for told in tuple(waiting):
        try:
            told(op.identity.run_id, about)
        except Exception as error:
            internal.report("waiting", error)
