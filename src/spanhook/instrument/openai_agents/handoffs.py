"""Hand-offs: a model calls the tool that stands for another agent, which then goes on with the run.

If a hand-off is refused, the model is told as it is told the results of tools, and its agent goes on.
"""

from dataclasses import fields
from typing import Any

from agents.items import ItemHelpers, ToolCallOutputItem
from agents.run_internal.run_steps import NextStepRunAgain, SingleStepResult

from spanhook import semconv
from spanhook.instrument.formats.openai import item_messages
from spanhook.instrument.openai_agents.runs import PROVIDER
from spanhook.instrument.wire import decoded
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Message, Reading, Request, exact_text

_OTHERS = "Multiple handoffs detected, ignoring this one."
"""What the SDK tells a model that asks for several at once: it makes the first."""


def _asked(kwargs: Kwargs) -> Any:
    """The hand-off that is made."""
    return kwargs["run_handoffs"][0]


def giver(kwargs: Kwargs) -> Any:
    """The agent that hands off."""
    agent = kwargs.get("public_agent")
    return kwargs["agent"] if agent is None else agent


def _name(kwargs: Kwargs) -> str:
    return exact_text(_asked(kwargs).handoff.agent_name)


def handoff_start(_instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: _name(kwargs),
        semconv.GEN_AI_TOOL_CALL_ID: _asked(kwargs).tool_call.call_id,
        semconv.DELEGATING_AGENT: exact_text(giver(kwargs).name),
    }


def handoff_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    """What is handed over: what the model gave with it, and the input of the run."""
    given = decoded(_asked(kwargs).tool_call.arguments or "{}")
    return Request(
        messages=item_messages(kwargs["original_input"]),
        arguments=given if isinstance(given, dict) else {},
        inputs=kwargs["original_input"],
    )


def handoff_output(_result: Any) -> list[Message]:
    return []


def handoff_rejected(_instance: Any, _args: Args, kwargs: Kwargs, reason: str) -> SingleStepResult:
    """The step of a turn whose tools have been called, so that the model is asked again."""
    agent, (first, *others) = giver(kwargs), kwargs["run_handoffs"]
    said = [(first, f"Hand-off to {_name(kwargs)} rejected: {reason}"), *((one, _OTHERS) for one in others)]
    told = [
        ToolCallOutputItem(
            agent=agent, output=text, raw_item=ItemHelpers.tool_call_output_item(handoff.tool_call, text)
        )
        for handoff, text in said
    ]
    made: dict[str, Any] = {
        "original_input": kwargs["original_input"],
        "model_response": kwargs["new_response"],
        "pre_step_items": kwargs["pre_step_items"],
        "new_step_items": [*kwargs["new_step_items"], *told],
        "next_step": NextStepRunAgain(),
        "tool_input_guardrail_results": list(kwargs.get("tool_input_guardrail_results") or ()),
        "tool_output_guardrail_results": list(kwargs.get("tool_output_guardrail_results") or ()),
    }
    known = {field.name for field in fields(SingleStepResult)}
    return SingleStepResult(**{name: value for name, value in made.items() if name in known})


def handoff_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


HANDOFF = Adapter(
    kind="agent.delegate",
    layer="openai_agents.handoff",
    start=handoff_start,
    reading=Reading(request=handoff_request, output=handoff_output),
    editing=Editing(rejected=handoff_rejected, answer=handoff_answer),
)
