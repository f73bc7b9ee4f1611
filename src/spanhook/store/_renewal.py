"""Stores that start afresh in a forked child: their locks and connections are the parent's."""

import weakref
from typing import Protocol

from spanhook.fork import after_fork


class Renewable(Protocol):
    """A store that starts afresh."""

    def renew(self) -> None: ...


renewed: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def _renew() -> None:
    for store in list(renewed):
        store.renew()


after_fork("stores", _renew)
