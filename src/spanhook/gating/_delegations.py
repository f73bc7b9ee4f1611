"""How subscriptions receive delegations: from hand-offs, which are operations, and from the runs of sub-agents."""

from collections.abc import Iterable
from dataclasses import replace

from spanhook.gating.binding import Bound
from spanhook.gating.listener import Delivery
from spanhook.gating.plan import Heard
from spanhook.gating.subscription import Subscription
from spanhook.model import AGENT, DELEGATION, Event, delegation_of, note_handoff
from spanhook.semconv import Phase


def delegations(kind: str, listening: Iterable[Bound]) -> dict[Phase, list[Heard]]:
    """Further listeners to operations of this kind, because of delegations, by phase.

    Args:
        kind: The kind of operation.
        listening: All subscriptions.
    """
    if kind not in (AGENT, DELEGATION):
        return {}
    heard: dict[Phase, list[Heard]] = {}
    for bound in listening:
        hook = bound.hook
        if not isinstance(hook, Subscription) or not ("*" in bound.kinds or DELEGATION in bound.kinds):
            continue
        every = replace(bound, selective=False)  # its filters apply to the delegation
        if kind == DELEGATION:
            return {"post": [(every, _note)]}
        for phase in hook.topic.phases_of(DELEGATION):
            heard.setdefault(phase, []).append((every, _Runs(bound, hook).put))
    return heard


def _note(delivery: Delivery) -> None:
    note_handoff(delivery.event._record)


class _Runs:
    """Passes the runs of sub-agents to a subscription, as delegations."""

    __slots__ = ("_bound", "_hook")

    def __init__(self, bound: Bound, hook: Subscription) -> None:
        self._bound, self._hook = bound, hook

    def put(self, delivery: Delivery) -> None:
        bound, phase = self._bound, delivery.event.phase
        op = delegation_of(delivery.event._record)
        if op is not None and (not bound.selective or bound.concerns(op)):
            self._hook.listener.put(delivery._replace(event=Event(op, phase), bound=bound))
