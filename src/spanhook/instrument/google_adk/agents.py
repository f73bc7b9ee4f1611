"""Agents that run in another one's run, or are run without a runner: ``BaseAgent.run_async`` and ``run_live``.

What such an agent is asked is in the session already: hooks read it, refuse it or answer it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.events.event import Event

from spanhook import semconv
from spanhook.instrument.google_adk.arguments import AGENT as CALL
from spanhook.instrument.google_adk.contents import read_all
from spanhook.instrument.google_adk.events import Events, event_of, event_output
from spanhook.instrument.google_adk.runs import PROVIDER, RUN, name_of
from spanhook.instrument.identities import as_id
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Reading,
    Record,
    Request,
    Streaming,
    current_record,
    runs_on,
)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of an agent's run; ``None`` for that of the root agent, which its runner's run is, and for one that
    goes on in a method that it overrides.
    """
    op = current_record()
    if op is None or not op.called or op.ended:
        return AGENT
    return None if _is_root(op, instance) or runs_on(AGENT, instance, args, kwargs) else AGENT


def _is_root(op: Record, agent: Any) -> bool:
    """Whether the run of ``op`` is the agent's. Workflows run copies of agents."""
    if op.adapter is not RUN:
        return False
    root = op.instance.agent
    return root is agent or (type(root) is type(agent) and name_of(root) == name_of(agent))


def _context(args: Args, kwargs: Kwargs) -> Any:
    return CALL.given(args, kwargs, "parent_context")


def agent_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: name_of(instance)}


def agent_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    content = getattr(_context(args, kwargs), "user_content", None)
    system = getattr(instance, "instruction", None)
    return Request(
        messages=read_all([] if content is None else [content]),
        system=system if isinstance(system, str) else "",
        inputs=content,
    )


def agent_identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User and session of the session that the agent runs in."""
    session = getattr(_context(args, kwargs), "session", None)
    found = {"user_id": as_id(getattr(session, "user_id", None)), "session_id": as_id(getattr(session, "id", None))}
    return {name: value for name, value in found.items() if value}


def agent_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Event:
    context = _context(args, kwargs)
    invocation = str(getattr(context, "invocation_id", "") or "")
    return event_of(name_of(instance), invocation, getattr(context, "branch", None), value)


def agent_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (agent_answer(instance, args, kwargs, value),)


AGENT = Adapter(
    kind="agent.invoke",
    layer="google_adk.agent",
    start=agent_start,
    context=CallContext(identity=agent_identity),
    reading=Reading(request=agent_request, output=event_output),
    editing=Editing(answer=agent_answer),
    streaming=Streaming(chunks=Events, answer_chunks=agent_events),
    traits=frozenset(("pools",)),
)
