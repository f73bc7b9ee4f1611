"""What is renewed in a forked child: one registry, in a fixed order.

A fork copies locks that other threads hold, but not the threads. Everything that keeps a lock, a thread or counts
registers here how to renew itself; nothing else is registered with ``os``. Locks of C libraries cannot be renewed:
whoever uses such a library keeps its threads out of it during a fork, with ``held_for_fork``.
"""

import os
import threading
from collections.abc import Callable
from typing import Literal, get_args

Renewed = Literal[
    "diagnostics",  # first, because later failures are reported there
    "threads",
    "loops",
    "usage",
    "prices",
    "spans",
    "metrics",
    "hooks",
    "hook states",
    "definitions",
    "runs",
    "listeners",
    "stores",
    "processors",
    "wrapped functions",
    "wrapped families",
    "trees",
    "console",
    "configuration",  # late, as it may put hooks in force
    "control plane",
]
"""What is renewed, in this order: dependencies come first."""

ORDER: tuple[Renewed, ...] = get_args(Renewed)

_renewals: dict[Renewed, Callable[[], None]] = {}
_holds: list[Callable[[], Callable[[], None]]] = []
_held = threading.local()


def after_fork(what: Renewed, renew: Callable[[], None]) -> None:
    """Call ``renew`` in every forked child, at the place of ``what`` in the order."""
    assert what not in _renewals, what
    _renewals[what] = renew


def held_for_fork(hold: Callable[[], Callable[[], None]]) -> None:
    """Call ``hold`` before each fork, and what it returns after it, in the parent alone."""
    _holds.append(hold)


def _hold() -> None:
    _held.released = [hold() for hold in _holds]


def _let_go() -> None:
    for release in reversed(_held.released):
        release()
    _held.released = []


def renew_all() -> None:
    """Renew everything in order; a failure does not stop the rest.

    Raises:
        BaseExceptionGroup: What failed, raised after everything else is renewed; after a fork, the interpreter prints
            it.
    """
    failed: list[BaseException] = []
    for what in ORDER:
        renew = _renewals.get(what)
        if renew is None:  # its module is not loaded
            continue
        try:
            renew()
        except BaseException as error:
            failed.append(error)
    if failed:
        raise BaseExceptionGroup("spanhook: not renewed in the forked child", failed)


os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=renew_all)
