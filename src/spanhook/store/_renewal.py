"""Renewing stores in a forked child, which must not use its parent's locks and connections."""

import weakref
from typing import Protocol

from spanhook.fork import after_fork


class Renewable(Protocol):
    """A store that is renewed in a forked child."""

    def renew(self) -> None: ...


renewed: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def _renew() -> None:
    for store in list(renewed):
        store.renew()


after_fork("stores", _renew)
