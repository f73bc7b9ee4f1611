"""Runs: ``Runner.run_async``, in which ``run`` and every server of the library end, and ``run_live``.

The run of a runner whose root is an agent is that agent's run. What it is asked is gated before it becomes part of the
session. A workflow, which is no agent, is a run in which agents run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event

from spanhook import semconv
from spanhook.instrument.google_adk.contents import FORMAT, read, read_all, rewritten, said
from spanhook.instrument.google_adk.events import Events, event_of, event_output
from spanhook.instrument.identities import ids_in
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Carried,
    Change,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    Streaming,
    current_record,
    exact_text,
    gated_by,
)

PROVIDER = "google_adk"


def name_of(agent: Any) -> str:
    """An agent's name; its class's if it has none."""
    return exact_text(getattr(agent, "name", None)) or type(agent).__name__


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a run; ``None`` for one that goes on in a method that it overrides."""
    op = current_record()
    is_inside = op is not None and op.adapter in (RUN, WORKFLOW) and op.instance is instance and op.called
    if op is not None and is_inside and not op.ended and gated_by(op) == run_carries(instance, args, kwargs):
        return None
    return RUN if isinstance(getattr(instance, "agent", None), BaseAgent) else WORKFLOW


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: name_of(instance.agent)}


def workflow_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_WORKFLOW_NAME: name_of(getattr(instance, "agent", None) or instance)}


# ------------------------------------------------------------------------------------------------- input


def _asked(kwargs: Kwargs) -> list[Any]:
    message = kwargs.get("new_message")
    return [] if message is None else [message]


def run_request(instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    """The message; what was said before is the session's."""
    system = getattr(getattr(instance, "agent", None), "instruction", None)
    return Request(
        messages=read_all(_asked(kwargs)),
        system=system if isinstance(system, str) else "",
        inputs=kwargs.get("new_message"),
    )


def run_carries(_instance: Any, _args: Args, kwargs: Kwargs) -> Carried:
    """What is asked, and in which session."""
    where = (exact_text(kwargs.get(name)) for name in ("user_id", "session_id", "invocation_id"))
    return [*FORMAT.carries({"contents": _asked(kwargs)}), *where]


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = _asked(kwargs) if change.inputs is None else [said(change.inputs, "user")]
    messages = rewritten(given, replace(change, inputs=None))
    if len(messages) != 1:
        raise ValueError(f"a run is asked one message; messages= has {len(messages)}")
    return args, {**kwargs, "new_message": messages[0]}


# ------------------------------------------------------------------------------------------------- output


def run_answer(instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Event:
    author = name_of(getattr(instance, "agent", None) or instance)
    return event_of(author, str(kwargs.get("invocation_id") or ""), None, value)


def run_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (run_answer(instance, args, kwargs, value),)


# ------------------------------------------------------------------------------------------------- identity


def run_identity(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User and session as the run is called with; the tenant, of what the application gave besides."""
    found = ids_in((kwargs, kwargs.get("state_delta"), run_metadata(_instance, _args, kwargs)))
    return {name: value for name, value in found.items() if value}


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    given = getattr(kwargs.get("run_config"), "custom_metadata", None)
    return dict(given) if isinstance(given, Mapping) else {}


RUN = Adapter(
    kind="agent.invoke",
    layer="google_adk.run",
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(request=run_request, message=read, output=event_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
    streaming=Streaming(chunks=Events, answer_chunks=run_events),
    nesting=Nesting(carries=run_carries),
    traits=frozenset(("hosts", "pools")),
)
WORKFLOW = replace(
    RUN,
    kind="run",
    verb="",
    layer="google_adk.workflow",
    start=workflow_start,
    editing=replace(RUN.editing, rewrite=None, takes=frozenset()),
    traits=frozenset(("pools",)),
)
