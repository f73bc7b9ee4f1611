"""Managed agents: ``MultiStepAgent.__call__``, by which an agent, or code that its model has written, asks another.

Its run is an operation inside of this one. A refusal is raised, and the model is told of it as of an error.
"""

from typing import Any

from spanhook import semconv
from spanhook.instrument.smolagents.arguments import DELEGATION as CALL
from spanhook.instrument.smolagents.runs import PROVIDER, asked, name_of
from spanhook.model import Adapter, Args, Attributes, Kwargs, Message, Reading, Request, current_record


def delegation_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: name_of(instance),
    }
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def delegation_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    task = CALL.given(args, kwargs, "task")
    return Request(messages=asked(task), arguments={**kwargs, "task": task}, inputs=task)


def delegation_output(result: Any) -> list[Message]:
    return [{"role": "assistant", "parts": [{"type": "text", "content": str(result)}]}]


DELEGATION = Adapter(
    kind="agent.delegate",
    layer="smolagents.delegation",
    start=delegation_start,
    reading=Reading(request=delegation_request, output=delegation_output),
)
