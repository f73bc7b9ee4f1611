"""Copies of objects that stand in for others: of ``wrapt``'s proxies, which by themselves can be neither copied nor
pickled.
"""

import copy
from typing import Any


class Copied:
    """A ``wrapt`` proxy whose copies, deep copies and pickles are those of what it wraps."""

    __wrapped__: Any

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # As the wrapped object itself, so that the pickle can be loaded where spanhook is not installed, unless that is
        # pickled by its name, as functions are: the name is the proxy's.
        try:
            reduced = self.__wrapped__.__reduce_ex__(protocol)
        except TypeError:
            reduced = ""
        return (itself, (self.__wrapped__,)) if isinstance(reduced, str) else reduced


def itself(value: Any) -> Any:
    """What a pickle of a proxy is loaded as: what the proxy wrapped."""
    return value
