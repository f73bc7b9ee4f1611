"""Turns of agents that a run was handed over to: those of each are an ``agent.invoke`` inside the run."""

from typing import Any

from agents.run_internal.run_steps import NextStepFinalOutput, NextStepInterruption, NextStepRunAgain

from spanhook.instrument.formats.openai import item_message, item_messages, output_message
from spanhook.instrument.openai_agents.runs import RUN, STREAMED, agent_attributes, run_answer
from spanhook.instrument.openai_agents.signatures import TURN
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    EndDetails,
    Kwargs,
    Message,
    Reading,
    Request,
    Turn,
    Usage,
    current_record,
    exact_text,
)


def turn(_instance: Any, args: Args, kwargs: Kwargs) -> Turn | None:
    """The turn of another agent than the one that the run began with."""
    around, agent = current_record(), _agent(args, kwargs)
    if around is None or around.adapter not in (RUN, STREAMED) or exact_text(agent.name) == around.name:
        return None
    return Turn(HANDED_OVER, agent, around, _is_last)


def _agent(args: Args, kwargs: Kwargs) -> Any:
    """The agent whose turn it is; newer versions pass it together with what it is on a machine of its own."""
    found = TURN.given(args, kwargs, "bindings") or kwargs.get("agent")
    return getattr(found, "public_agent", found)


def _is_last(result: Any) -> bool:
    return not isinstance(result.next_step, NextStepRunAgain)


def agent_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return agent_attributes(instance)


def agent_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """What the agent begins with: the input as the hand-off left it."""
    streamed = TURN.given(args, kwargs, "streamed_result")
    given = kwargs.get("original_input") if streamed is None else streamed.input
    instructions = getattr(instance, "instructions", None)
    return Request(
        messages=item_messages(given),
        system=instructions if isinstance(instructions, str) else "",
        inputs=given,
    )


def agent_response(result: Any) -> tuple[Attributes, Usage | None]:
    op = current_record()
    if op is not None and isinstance(getattr(result, "next_step", None), NextStepInterruption):
        op.part(EndDetails).left = "interrupted"
    return {}, None


def agent_output(result: Any) -> list[Message]:
    if isinstance(result.next_step, NextStepFinalOutput) and isinstance(result.next_step.output, str):
        return [{"role": "assistant", "parts": [{"type": "text", "content": result.next_step.output}]}]
    return [output_message(result.model_response.output)]


HANDED_OVER = Adapter(
    kind="agent.invoke",
    layer="openai_agents.turns",
    start=agent_start,
    reading=Reading(request=agent_request, message=item_message, response=agent_response, output=agent_output),
    editing=Editing(answer=run_answer),
)
