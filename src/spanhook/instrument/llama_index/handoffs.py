"""Hand-offs: the tool by which an agent of an ``AgentWorkflow`` lets another one go on.

A refusal is raised, as that of any tool: the model is told, and its agent goes on.
"""

from typing import Any

from llama_index.core.agent.workflow.multi_agent_workflow import handoff
from llama_index.core.tools.function_tool import FunctionTool

from spanhook import semconv
from spanhook.instrument.llama_index.describing import PROVIDER
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    current_record,
    exact_text,
)

_GIVEN = ("to_agent", "reason")


def is_handoff(tool: Any) -> bool:
    """Whether a tool is the library's own for hand-offs. One of the application may have the same name."""
    return isinstance(tool, FunctionTool) and tool.real_fn is handoff


def handoff_start(_instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(kwargs.get("to_agent")),
    }
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def handoff_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    given = {name: kwargs.get(name) for name in _GIVEN}
    said = {"type": "text", "content": str(given["reason"] or "")}
    return Request(messages=[{"role": "user", "parts": [said]}], arguments=given, inputs=given["reason"])


def handoff_output(_result: Any) -> list[Message]:
    return []


def handoff_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


HANDOFF = Adapter(
    kind="agent.delegate",
    layer="llama_index.handoff",
    start=handoff_start,
    reading=Reading(request=handoff_request, output=handoff_output),
    editing=Editing(answer=handoff_answer),
)
