"""Hooks that are told of every operation once, when nothing about it can change any more.

``after`` and ``on_error`` come before the last decisions are made, and not at all for some operations; see ``Auditor``.
"""

from collections.abc import Callable, Iterable

from spanhook.diagnostics import internal
from spanhook.gating.binding import Bound
from spanhook.gating.hook import Hook
from spanhook.model import ASKING_FOR_RUNS, DecisionRecord, Operation, Record, view_of


class Auditor(Hook):
    """A hook that is told of each operation of its kinds after it has ended, with every decision about it.

    Refused, cancelled and abandoned operations, those that a hook answered, and those that hooks make themselves are
    included, whatever the sampler decides. Nothing that it does affects the operation. It has at least one other
    method of a hook, such as ``before``.
    """

    def ended(self, op: Operation) -> None:
        """The operation has ended. Called on the thread that ended it; what it raises is logged and counted."""

    def decided(self, op: Operation, decision: DecisionRecord) -> None:
        """A hook in shadow mode has decided about an operation, which may have ended before."""


in_shadow: list[Callable[[Record, DecisionRecord], None]] = []
"""Called with each decision of a hook in shadow mode; set by the engine."""


def auditors_of(ordered: Iterable[Bound]) -> tuple[Bound, ...]:
    """Each auditor among the active hooks once, with its filters."""
    return tuple({id(one.hook): one for one in ordered if isinstance(one.hook, Auditor)}.values())


def tell_ended(op: Record, bound: Bound) -> None:
    """Tell an auditor of an operation that has ended, if it is one of its own."""
    if _concerns(bound, op):
        assert isinstance(bound.hook, Auditor)
        bound.hook.ended(view_of(op))


def tell_decided(op: Record, decision: DecisionRecord, auditors: Iterable[Bound]) -> None:
    """Tell auditors of a decision in shadow mode."""
    for bound in auditors:
        try:
            if _concerns(bound, op):
                assert isinstance(bound.hook, Auditor)
                bound.hook.decided(view_of(op), decision)
        except Exception as error:
            internal.report("auditor", error, lost=1)


def _concerns(bound: Bound, op: Record) -> bool:
    """Whether an auditor is told of an operation; in case of doubt it is."""
    if "*" not in bound.kinds and op.kind not in bound.kinds:
        return False
    if bound.outermost and (op.kind in ASKING_FOR_RUNS or not (op.parent is None or op.parent.kind in ASKING_FOR_RUNS)):
        return False
    try:
        return not bound.selective or bound.matches(op)
    except Exception:
        return True
