"""What hooks renew in a forked child, such as a lock that another thread of the parent may have held."""

import weakref
from typing import Protocol

from spanhook.fork import after_fork


class Renewable(Protocol):
    """Something that is renewed in a forked child."""

    def renew(self) -> None:
        """Called in every forked child, before anything else runs there."""


_renewed: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def renewed_after_fork(one: Renewable) -> None:
    """Call ``renew`` of this object in every forked child, as long as the object is alive."""
    _renewed.add(one)


def _renew() -> None:
    for one in list(_renewed):
        one.renew()


after_fork("hook states", _renew)
