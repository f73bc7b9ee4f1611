"""Renewing stores in a forked child, which must not use its parent's locks and connections."""

import weakref
from typing import Protocol

from spanhook.fork import after_fork


class Renewable(Protocol):
    """A store that is renewed in a forked child."""

    def renew(self) -> None: ...


renewed: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def _renew() -> None:
    failed: list[BaseException] = []
    for store in list(renewed):
        try:
            store.renew()
        except BaseException as error:  # the others are renewed, as they may share a lock with the parent
            failed.append(error)
    if failed:
        raise BaseExceptionGroup("spanhook: stores", failed)


after_fork("stores", _renew)
