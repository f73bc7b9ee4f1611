"""Workflows: the loop in which every run of one ends, of agents, of teams of them, and of the application's own.

Workflows are a library of their own, which may be used without the rest, of which nothing is imported here.
"""

from collections.abc import Mapping
from typing import Any

from workflows.events import StopEvent

from spanhook import semconv
from spanhook.instrument.identities import ids_in
from spanhook.instrument.llama_index.arguments import LOOP
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    exact_text,
)

_AGENTS = "llama_index.core.agent.workflow."
_SORTS = {"BaseWorkflowAgent": "agent", "AgentWorkflow": "team"}


def sort_of(workflow: Any) -> str:
    """``"agent"``, ``"team"`` for agents that hand over to each other, or empty for any other workflow."""
    for one in type(workflow).__mro__:
        if one.__module__.startswith(_AGENTS) and one.__name__ in _SORTS:
            return _SORTS[one.__name__]
    return ""


def flow_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    workflow = instance.workflow
    named = getattr(workflow, "_workflow_name", None)
    return {semconv.GEN_AI_WORKFLOW_NAME: exact_text(named) or type(workflow).__name__}


def given_to(args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """What a run was given; nothing if it goes on with what it had."""
    event = LOOP.given(args, kwargs, "start_event")
    if event is None:
        return {}
    declared = {name: getattr(event, name) for name in type(event).model_fields}
    return {**declared, **dict(event.items())}


def flow_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = dict(given_to(args, kwargs))
    return Request(arguments=given, inputs=LOOP.given(args, kwargs, "start_event"))


def flow_identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session, if they are among what the run was given; the session also by its memory."""
    given = given_to(args, kwargs)
    return {name: one for name, one in ids_in((given, given.get("memory"))).items() if one}


def flow_output(result: Any) -> list[Message]:
    said = result.result if type(result) is StopEvent else result
    if said is None:
        return []
    told = said if isinstance(said, str | int | float | list | dict) else str(said)
    return [{"role": "assistant", "parts": [{"type": "text", "content": encoded(told)}]}]


def flow_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> StopEvent:
    return value if isinstance(value, StopEvent) else StopEvent(result=value)


FLOW = Adapter(
    kind="run",
    layer="llama_index.workflow",
    start=flow_start,
    context=CallContext(identity=flow_identity),
    reading=Reading(request=flow_request, output=flow_output),
    editing=Editing(answer=flow_answer),
)
