"""What is renewed in a forked child: one registry, in a fixed order.

A fork copies locks that other threads hold, but not the threads. Everything that keeps a lock, a thread or counts
registers here how to renew itself; nothing else is registered with ``os``. Locks of C libraries cannot be renewed:
whoever uses such a library keeps its threads out of it during a fork, with ``held_for_fork``.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, Literal, Protocol, get_args

Renewed = Literal[
    "diagnostics",  # first, because later failures are reported there
    "threads",
    "bells",
    "loops",
    "usage",
    "tool results",
    "prices",
    "spans",
    "metrics",
    "providers",
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
_holds: list[Callable[["list[Lock]"], None]] = []
_held = threading.local()


class Lock(Protocol):
    """What can be released."""

    def release(self) -> Any:
        """Release it."""
        ...


def after_fork(what: Renewed, renew: Callable[[], None]) -> None:
    """Call ``renew`` in every forked child, at the place of ``what`` in the order."""
    assert what not in _renewals, what
    _renewals[what] = renew


def held_for_fork(hold: Callable[[list[Lock]], None]) -> None:
    """Call ``hold`` before each fork, with a list that it adds to what it takes: that is released after the fork, in
    the parent alone, whatever ``hold`` has raised. Python prints that, and forks all the same.
    """
    _holds.append(hold)


@contextmanager
def kept_from_forks(handlers: list[Callable[[], Any]]) -> Generator[None]:
    """What OpenTelemetry's SDK would have called in forked children, for what it creates in the block, is added to
    ``handlers`` instead.
    """
    register = os.register_at_fork

    def add(**given: Callable[[], Any]) -> None:
        after = given.pop("after_in_child", None)
        if after is not None and str(after.__module__).startswith("opentelemetry.sdk."):
            handlers.append(after)
        elif after is not None:
            given["after_in_child"] = after
        if given:
            register(**given)

    os.register_at_fork = add
    try:
        yield
    finally:
        os.register_at_fork = register


def _hold() -> None:
    held = list[Lock]()
    _held.released = map(methodcaller("release"), held)  # nothing is released until that is iterated over
    failed = list[BaseException]()
    for hold in _holds:
        try:
            hold(held)
        except BaseException as error:  # an interrupt, say, while it waited
            failed.append(error)
    if failed:
        raise BaseExceptionGroup("spanhook: not all is held for the fork", failed)


def _let_go() -> None:
    deque(getattr(_held, "released", ()), maxlen=0)  # in one step, which no interrupt can split


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
os.register_at_fork(after_in_parent=_let_go)  # a signal during the fork interrupts the first one where it begins
