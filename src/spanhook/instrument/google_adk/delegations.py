"""Hand-offs: a tool says that another agent goes on, or a model gives an agent a task.

If one is refused, the model is told as the result of the tool, and its agent goes on. What an agent is given with a
task, it reads in the session.
"""

from dataclasses import dataclass
from typing import Any

from spanhook import semconv
from spanhook.instrument.google_adk.arguments import TASK as CALL
from spanhook.instrument.google_adk.runs import PROVIDER, name_of
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Message, Reading, Request, exact_text


@dataclass(frozen=True, slots=True)
class Handoff:
    """What a tool asks for.

    Attributes:
        target: The name of the agent that is to go on.
        giver: The name of the agent that hands off.
        context: The context of the tool's call.
        arguments: What the tool was called with.
    """

    target: str
    giver: str
    context: Any
    arguments: dict[str, Any]


def handoff_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: instance.target,
        semconv.DELEGATING_AGENT: instance.giver,
    }
    call_id = getattr(instance.context, "function_call_id", None)
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return attributes


def handoff_request(instance: Any, _args: Args, _kwargs: Kwargs) -> Request:
    return Request(arguments=instance.arguments, inputs=instance.arguments)


def handoff_rejected(instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> dict[str, str]:
    """The result of the tool, which hands nothing off any more."""
    instance.context.actions.transfer_to_agent = None
    return {"error": f"Hand-off to {instance.target} rejected: {reason}"}


def handoff_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


HANDOFF = Adapter(
    kind="agent.delegate",
    layer="google_adk.handoff",
    start=handoff_start,
    reading=Reading(request=handoff_request),
    editing=Editing(rejected=handoff_rejected, answer=handoff_answer),
)


# ------------------------------------------------------------------------------------------------- tasks


def _task(args: Args, kwargs: Kwargs) -> Any:
    """The call of a function that stands for an agent."""
    return CALL.given(args, kwargs, "fc")


def task_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    task = _task(args, kwargs)
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(task.name),
        semconv.DELEGATING_AGENT: name_of(CALL.given(args, kwargs, "parent_agent")),
        semconv.GEN_AI_TOOL_CALL_ID: str(task.id),
    }


def task_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = dict(_task(args, kwargs).args or {})
    return Request(arguments=given, inputs=given)


def task_output(result: Any) -> list[Message]:
    return [] if result is None else [{"role": "assistant", "parts": [{"type": "text", "content": str(result)}]}]


def task_rejected(_instance: Any, args: Args, kwargs: Kwargs, reason: str) -> dict[str, str]:
    return {"error": f"Hand-off to {exact_text(_task(args, kwargs).name)} rejected: {reason}"}


TASK = Adapter(
    kind="agent.delegate",
    layer="google_adk.task",
    start=task_start,
    reading=Reading(request=task_request, output=task_output),
    editing=Editing(rejected=task_rejected),
)
