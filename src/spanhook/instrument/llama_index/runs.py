"""Runs of agents, alone or as the only one of an ``AgentWorkflow``; runs of several that hand over to each other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.agent.workflow.workflow_events import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from workflows.events import StopEvent

from spanhook import semconv
from spanhook.instrument.llama_index.arguments import LOOP
from spanhook.instrument.llama_index.describing import PROVIDER
from spanhook.instrument.llama_index.flows import FLOW, flow_output, given_to, sort_of
from spanhook.instrument.llama_index.messages import answer_of, read, read_all, rewritten, text_of_parts
from spanhook.instrument.wire import one_prompt
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Kwargs,
    Message,
    Request,
    copied_model,
    copies,
    exact_text,
)

copies(AgentOutput)(copied_model)


def agent_of(workflow: Any) -> Any:
    """The agent that begins."""
    return workflow if sort_of(workflow) == "agent" else workflow.agents[workflow.root_agent]


def described(agent: Any) -> Attributes:
    """Start attributes of an agent's run."""
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: exact_text(agent.name)}


def system_of(agent: Any) -> str:
    system = getattr(agent, "system_prompt", None)
    return system if isinstance(system, str) else ""


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return described(agent_of(instance.workflow))


def _asked(args: Args, kwargs: Kwargs) -> list[Any]:
    """What a run is asked: earlier messages, and the user's."""
    given = given_to(args, kwargs)
    asked = given.get("user_msg")
    return [*(given.get("chat_history") or ()), *(() if asked is None else (_native(asked),))]


def _native(asked: Any) -> Any:
    return ChatMessage(role=MessageRole.USER, content=asked) if isinstance(asked, str) else asked


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(
        messages=read_all(_asked(args, kwargs)),
        system=system_of(agent_of(instance.workflow)),
        inputs=given_to(args, kwargs).get("user_msg"),
    )


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    event = LOOP.given(args, kwargs, "start_event")
    if event is None:
        raise ValueError("a run that goes on has been given its messages before")
    given = dict(given_to(args, kwargs))
    if change.inputs is not None:
        given["user_msg"] = change.inputs
    if change.messages is not None:
        given |= _put(given, one_prompt(change.messages))
    return LOOP.having(args, kwargs, start_event=type(event)(**given))


def _put(given: dict[str, Any], new: Sequence[Any]) -> dict[str, Any]:
    """A hook's version of what a run is asked, as it was given."""
    asked, history = given.get("user_msg"), list(given.get("chat_history") or ())
    before = [*history, *(() if asked is None else (_native(asked),))]
    messages = rewritten(before, new)
    if asked is None or not messages:
        return {"chat_history": messages}
    *history, last = messages
    is_text = isinstance(asked, str) and last.role == MessageRole.USER
    return {"chat_history": history, "user_msg": text_of_parts(read(last)["parts"]) if is_text else last}


# ------------------------------------------------------------------------------------------------- output


def run_output(result: Any) -> list[Message]:
    said: Any = getattr(result, "result", None)
    return [read(said.response)] if isinstance(said, AgentOutput) else flow_output(result)


def run_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> StopEvent:
    """The end of a run whose agent has said what a hook answers."""
    if isinstance(value, StopEvent):
        return value
    if isinstance(value, AgentOutput):
        return StopEvent(result=value)
    return StopEvent(result=output_of(agent_of(instance.workflow), value))


def output_of(agent: Any, value: Any) -> AgentOutput:
    """What an agent gives that has said this."""
    return AgentOutput(response=answer_of(value), current_agent_name=agent.name)


RUN = replace(
    FLOW,
    kind="agent.invoke",
    verb="",
    layer="llama_index.agent",
    start=run_start,
    reading=replace(FLOW.reading, request=run_request, message=read, output=run_output),
    editing=replace(FLOW.editing, rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
)
TEAM: Adapter = replace(
    FLOW,
    layer="llama_index.team",
    reading=replace(FLOW.reading, request=run_request, output=run_output),
    editing=replace(FLOW.editing, answer=run_answer),
)
