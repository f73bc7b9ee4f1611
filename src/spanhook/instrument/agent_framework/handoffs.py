"""Hand-offs between the agents of a workflow of ``agent-framework-orchestrations``: the library notes one where an
agent's model calls the tool that stands for another agent, and runs that agent next.

A refused hand-off is the result of that tool, which the model is told.
"""

from typing import Any

from agent_framework import FunctionTool

from spanhook import semconv
from spanhook.instrument.agent_framework.describing import PROVIDER
from spanhook.instrument.signatures import Signature
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Reading, Request, current_record, exact_text

CALL = Signature("context", "call_next")


def _target(instance: Any, args: Args, kwargs: Kwargs) -> str:
    """The agent that is handed over to; empty if the tool stands for none."""
    function = getattr(CALL.given(args, kwargs, "context"), "function", None)
    return exact_text(instance._handoff_functions.get(getattr(function, "name", None)))


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return HANDOFF if _target(instance, args, kwargs) else None


def handoff_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: _target(instance, args, kwargs),
    }
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def handoff_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = getattr(CALL.given(args, kwargs, "context"), "arguments", None)
    arguments = dict(given) if isinstance(given, dict) else {}
    return Request(arguments=arguments, inputs=arguments)


def handoff_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


def handoff_rejected(_instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
    """What the model is told. A middleware leaves its result in the context; nobody reads what it returns."""
    context = CALL.given(args, kwargs, "context")
    context.result = FunctionTool.parse_result(f"Error: {reason}")
    return context.result


HANDOFF = Adapter(
    kind="agent.delegate",
    layer="agent_framework.handoff",
    start=handoff_start,
    reading=Reading(request=handoff_request),
    editing=Editing(answer=handoff_answer, rejected=handoff_rejected),
)
