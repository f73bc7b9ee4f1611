"""Results that are made when somebody first reads them, because most hooks never do."""

import marshal
from collections.abc import Callable
from typing import Any

from spanhook.diagnostics import internal


class Later:
    """A result that has not been made yet.

    Any thread may ask for it at any time: what it is made of is a copy of its own.

    Args:
        make: Makes it from its data; depends on nothing else that changes.
        data: Its data, as ``marshal`` writes it: the fastest copy of plain data, and one that nothing else passes but
            buffers, which it takes for ``bytes`` and JSON does not have.
    """

    __slots__ = ("_data", "_made", "_make")

    def __init__(self, make: Callable[[Any], Any], data: bytes) -> None:
        self._make, self._data = make, data
        self._made: list[Any] = []

    def value(self) -> Any:
        """The result, which is the same for everybody; ``None`` if it could not be made.

        Raises:
            MemoryError, RecursionError: There is no room to make it here; a gate that needs it fails.
        """
        data, made = self._data, self._made  # in this order: the data goes once it is made
        if not made:
            made.append(self._build(data))  # of two threads at once, the first one's counts
            self._data = b""
        return made[0]

    def _build(self, data: bytes) -> Any:
        try:
            return self._make(marshal.loads(data))  # noqa: S302 - it was written here
        except (MemoryError, RecursionError):  # the reader's lack: others may still read it
            raise
        except Exception as error:
            self._made.append(None)
            internal.report("extract.response", error, lost=1)
            return None


def later(make: Callable[[Any], Any], value: Any) -> Any:
    """``make(value)`` when it is first read; at once if ``value`` is not plain data alone, which others could change.

    Args:
        make: As in ``Later``.
        value: What it is given: a copy, if it is called later.
    """
    try:
        data = marshal.dumps(value)
    except ValueError:
        return make(value)
    return Later(make, data)


def resolved(result: Any) -> Any:
    """A result, made now if it is not yet."""
    return result.value() if type(result) is Later else result
