"""What starts afresh in a forked child: one registry, in a stated order.

A fork copies locks that other threads hold, and none of those threads. Whatever keeps a lock, a thread or what was
counted says here how it starts afresh; nothing else is registered with ``os``.
"""

import os
from collections.abc import Callable
from typing import Literal, get_args

Renewed = Literal[
    "diagnostics",  # first, since what fails from here on is reported there
    "threads",
    "loops",
    "usage",
    "prices",
    "spans",
    "metrics",
    "hooks",
    "definitions",
    "listeners",
    "processors",
    "wrapped functions",
    "wrapped families",
    "trees",
    "console",
]
"""What is renewed, in this order: what others are made of comes before them."""

ORDER: tuple[Renewed, ...] = get_args(Renewed)

_renewals: dict[Renewed, Callable[[], None]] = {}


def after_fork(what: Renewed, renew: Callable[[], None]) -> None:
    """Have ``renew`` called in every forked child, when it is the turn of ``what``."""
    assert what not in _renewals, what
    _renewals[what] = renew


def renew_all() -> None:
    """Renew everything, in the order stated; one that fails keeps no other from it.

    Raises:
        BaseExceptionGroup: What failed, told once all else is renewed; after a fork, the interpreter prints it.
    """
    failed: list[BaseException] = []
    for what in ORDER:
        renew = _renewals.get(what)
        if renew is None:  # its module is not in use
            continue
        try:
            renew()
        except BaseException as error:
            failed.append(error)
    if failed:
        raise BaseExceptionGroup("spanhook: not renewed in the forked child", failed)


os.register_at_fork(after_in_child=renew_all)
