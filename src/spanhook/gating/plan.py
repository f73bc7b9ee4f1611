"""What runs for operations of one kind, in order. Knows nothing of which hooks are in force."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spanhook.gating.binding import AFTER, AROUND, BEFORE, ERROR, WRAP, Bound
from spanhook.gating.listener import Delivery
from spanhook.semconv import Phase
from spanhook.telemetry import Label

Heard = tuple[Bound, Callable[[Delivery], Any]]
"""Whose filters say whether it listens to an operation, and what it is told with."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The hooks of one kind, in order."""

    pre: tuple[Bound, ...] = ()
    post: tuple[Bound, ...] = ()
    error: tuple[Bound, ...] = ()
    buffers: tuple[Bound, ...] = ()
    """Those for which streams, and all else that tells parts of a result, are held back."""
    results: tuple[Bound, ...] = ()
    """Those that see a result and may refuse or replace it."""
    passes: tuple[Label, ...] = ()
    """What ``allow`` of each of ``pre`` is counted under."""
    heard: Mapping[Phase, tuple[Heard, ...]] = field(default_factory=dict[Phase, tuple[Heard, ...]])
    """Subscriptions and hooks in shadow, by the phase they are told of."""
    wraps: bool = False
    """Whether one of ``pre`` is a coroutine that waits around the call."""
    hooked: bool = False
    """Whether there is anything to run, beside telling those that listen."""

    def __bool__(self) -> bool:
        return self.hooked or bool(self.heard)


def plan_of(kind: str, hooks: Iterable[Bound], heard: Mapping[Phase, tuple[Heard, ...]], *, labelled: bool) -> Plan:
    """The plan of one kind.

    Args:
        kind: Of the operations.
        hooks: Functions of hooks that are enforced, in order.
        heard: Who listens.
        labelled: Whether what lets pass is counted under one label whoever's operation it is.
    """
    mine = tuple(hooks)
    pre = tuple(one for one in mine if one.form in (BEFORE, AROUND, WRAP))
    post = tuple(one for one in mine if one.form == AFTER)
    error = tuple(one for one in mine if one.form == ERROR)
    passes = tuple(_passes(kind, one) for one in pre) if labelled else ()
    buffers = tuple(one for one in (*pre, *post) if one.buffers)
    results = tuple(one for one in (*pre, *post) if one.form != BEFORE or one.buffers)
    wraps = any(one.form == WRAP for one in pre)
    return Plan(pre, post, error, buffers, results, passes, heard, wraps, bool(pre or post or error))


def _passes(kind: str, bound: Bound) -> Label:
    return Label.of(bound.name, kind, "pre", "allow", "enforce", "enforced", bound.closed, "")
