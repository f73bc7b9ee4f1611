"""Delegations: the run of an agent inside another agent, seen as something that the outer agent delegated.

A delegation is only reported as events: it has no span and no hooks, since the inner agent's run has both. A hand-off
is an operation of its own, ``agent.delegate``; the run that follows it is not reported as another delegation.
"""

from dataclasses import replace
from functools import lru_cache

from spanhook import semconv
from spanhook.model.adapter import Adapter
from spanhook.model.record import Record

AGENT, DELEGATION = "agent.invoke", "agent.delegate"


def delegation_of(op: Record) -> Record | None:
    """The run of an agent as a delegation, in its current state.

    Returns:
        The same record each time; ``None`` if no agent encloses it, or if it runs because of a hand-off.
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
    """Remember a hand-off: the agents that it goes to run next, inside the agent that encloses all of them."""
    giver = _agent(op.parent)
    team = giver if giver is None or "hosts" in giver.adapter.traits else _agent(giver.parent)
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
