"""Delegation: an agent that is run by another one is told of twice, as its own run and as what the other one delegated.

There is no second span, and no hook for it: the agent's own run is gated. A hand-off is an operation of its own,
``agent.delegate``; the run of the agent that it was made to is not told of as another delegation.
"""

from dataclasses import replace
from functools import lru_cache

from spanhook import semconv
from spanhook.model.adapter import Adapter
from spanhook.model.record import Record

AGENT, DELEGATION = "agent.invoke", "agent.delegate"


def delegation_of(op: Record) -> Record | None:
    """What the run of an agent is to the agent around it, as far as both have come.

    Returns:
        The same each time; ``None`` where no agent is around it, or it runs because of a hand-off.
    """
    found = op.delegation
    if found is None:
        around = _agent(op.parent)
        if around is None or _was_handed_to(op.name, around):
            found = op.delegation = False
        else:
            found = op.delegation = _made(op, around)
    if not isinstance(found, Record):
        return None
    found.args, found.kwargs, found.result, found.error = op.args, op.kwargs, op.result, op.error
    found.phase, found.status, found.called = op.phase, op.status, op.called
    found.returned_ns, found.end_ns = op.returned_ns, op.end_ns
    found.leaves, found.own_usage, found.end_attributes = op.leaves, op.own_usage, op.end_attributes
    return found


def note_handoff(op: Record) -> None:
    """A hand-off was made: the agents that it was made to run next, within the agent that both belong to."""
    giver = _agent(op.parent)
    team = _agent(giver.parent) if giver is not None else None
    if team is not None:
        team.__dict__.setdefault("handed_to", set()).update(op.name.split(","))


def _was_handed_to(name: str, around: Record) -> bool:
    if not around.handed_to or name not in around.handed_to:
        return False
    around.handed_to.discard(name)
    return True


def _made(op: Record, around: Record) -> Record:
    attributes = {semconv.GEN_AI_AGENT_NAME: op.name, semconv.DELEGATING_AGENT: around.agent}
    made = Record(
        _as_delegation(op.adapter),
        attributes,
        op.instance,
        op.args,
        op.kwargs,
        op.parent,
        op.ambient,
        op.before,
        op.start_ns,
        op.held,
    )
    made.span, made.agent, made.given, made.coverage = op.span, around.agent, op.given, op.coverage
    return made


@lru_cache(maxsize=256)
def _as_delegation(adapter: Adapter) -> Adapter:
    return replace(adapter, kind=DELEGATION)


def _agent(op: Record | None) -> Record | None:
    while op is not None and op.kind != AGENT:
        op = op.parent
    return op
