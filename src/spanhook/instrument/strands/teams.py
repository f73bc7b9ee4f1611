"""Graphs and swarms, which are workflows in the conventions' terms, and hand-offs in swarms.

Agents in them run as they do alone. A refused hand-off is told to the model as the result of its tool.
"""

from typing import Any

from strands.multiagent.base import MultiAgentResult, Status

from spanhook import semconv
from spanhook.instrument.strands.arguments import HANDOFF as GIVEN
from spanhook.instrument.strands.arguments import TEAM as CALL
from spanhook.instrument.strands.chunks import Last
from spanhook.instrument.strands.prompts import messages_of
from spanhook.instrument.strands.runs import PROVIDER, run_identity
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
    Streaming,
    exact_text,
    runs_on,
)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if runs_on(TEAM, instance, args, kwargs) else TEAM


def team_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    named = exact_text(getattr(instance, "id", None))
    return {semconv.GEN_AI_WORKFLOW_NAME: named or type(instance).__name__}


def team_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    task = CALL.given(args, kwargs, "task")
    return Request(messages=messages_of(task), inputs=task)


def team_identity(instance: Any, args: Args, kwargs: Kwargs) -> dict[str, str]:
    state = CALL.given(args, kwargs, "invocation_state")
    return dict(run_identity(instance, (), {"invocation_state": state}))


def team_output(result: Any) -> list[Message]:
    """What the agents said, each as a message."""
    nodes = result.results.values() if isinstance(result, MultiAgentResult) else ()
    said = [str(getattr(one, "result", "")).rstrip("\n") for one in nodes]
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in said if text]


def team_fault(result: Any) -> str:
    """Why a result is an error: an agent has failed, and nothing is raised."""
    return "failed" if getattr(result, "status", None) is Status.FAILED else ""


def team_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> MultiAgentResult:
    if isinstance(value, MultiAgentResult):
        return value
    raise TypeError("the answer of a graph or swarm is one of its results; refuse it, or answer its agents' calls")


def team_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> tuple[Any, ...]:
    return ({"type": "multiagent_result", "result": team_answer(instance, args, kwargs, value)},)


TEAM = Adapter(
    kind="run",
    layer="strands.team",
    start=team_start,
    context=CallContext(identity=team_identity),
    reading=Reading(request=team_request, output=team_output, fault=team_fault),
    editing=Editing(answer=team_answer),
    streaming=Streaming(chunks=Last, answer_chunks=team_events),
)


# ------------------------------------------------------------------------------------------------- hand-offs


def handoff_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a hand-off; ``None`` for one that the swarm ignores, because it has ended."""
    status = getattr(getattr(instance, "state", None), "completion_status", None)
    return HANDOFF if status is Status.EXECUTING else None


def handoff_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    target = GIVEN.given(args, kwargs, "target_node")
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(getattr(target, "node_id", "")),
    }
    giver = getattr(getattr(instance.state, "current_node", None), "node_id", None)
    if giver:
        attributes[semconv.DELEGATING_AGENT] = exact_text(giver)
    return attributes


def handoff_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    message, context = GIVEN.given(args, kwargs, "message"), GIVEN.given(args, kwargs, "context")
    return Request(messages=messages_of(message), arguments={"message": message, "context": context}, inputs=message)


def handoff_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


HANDOFF = Adapter(
    kind="agent.delegate",
    layer="strands.handoff",
    start=handoff_start,
    reading=Reading(request=handoff_request),
    editing=Editing(answer=handoff_answer),
)
