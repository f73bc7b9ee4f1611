"""Delegations: the run of an agent inside another agent, seen as something that the outer agent delegated.

A delegation is only reported as events: it has no span and no hooks, since the inner agent's run has both. A hand-off
is an operation of its own, ``agent.delegate``; the run that follows it is not reported as another delegation.
"""

from dataclasses import replace
from functools import lru_cache

from spanhook import semconv
from spanhook.model.adapter import Adapter
from spanhook.model.record import Record
from spanhook.model.record_parts import RecordPart

AGENT, DELEGATION = "agent.invoke", "agent.delegate"


class Delegations(RecordPart):
    """What this module keeps with the run of an agent.

    Attributes:
        run: The run as a delegation; false if it is not one, ``None`` if nobody has asked.
        handed_to: Agents that this agent's members have handed off to and that have not begun yet.
    """

    name = "delegations"
    run: Record | bool | None = None

    def __init__(self) -> None:
        self.handed_to: set[str] = set()


def delegation_of(op: Record) -> Record | None:
    """The run of an agent as a delegation, in its current state.

    Returns:
        The same record each time; ``None`` if no agent encloses it, or if it runs because of a hand-off.
    """
    known = op.part(Delegations)
    found = known.run
    if found is None:
        around = _agent(op.parent)
        if around is None or _was_handed_to(op.name, around):
            found = known.run = False
        else:
            found = known.run = _made(op, around)
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
        team.part(Delegations).handed_to.update(op.name.split(","))


def _was_handed_to(name: str, around: Record) -> bool:
    waiting = around.part(Delegations).handed_to
    if name not in waiting:
        return False
    waiting.discard(name)
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
