"""Crews and flows, which are workflows in the conventions' terms; an agent's tasks, and agents asked directly."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from crewai.agent.core import Agent
from crewai.crews.crew_output import CrewOutput
from crewai.lite_agent_output import LiteAgentOutput

from spanhook import semconv
from spanhook.instrument.crewai.arguments import ASKED, KICKOFF, TASK
from spanhook.instrument.crewai.prompts import TAKES, request_of, rewritten
from spanhook.instrument.crewai.refusals import aborted
from spanhook.instrument.formats.openai import chat_message
from spanhook.instrument.wire import encoded, messages_in, text_in
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    exact_text,
    runs_on,
)

PROVIDER = "crewai"
_OWN = ("crewai.agents.", "crewai.memory.", "crewai.experimental.")
"""Where CrewAI has flows that are parts of agents and memories."""


def _named(name: Any, instance: Any) -> str:
    return exact_text(name).strip() or type(instance).__name__


def text_of(value: Any, expected: str) -> str:
    parts = (part for message in messages_in(value, expected, key="parts") for part in message["parts"])
    return text_in(parts)


# ------------------------------------------------------------------------------------------------- crews and flows


def crew_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one that returns a stream, which makes another one of its own."""
    return None if getattr(instance, "stream", False) or runs_on(CREW, instance, args, kwargs) else CREW


def flow_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a flow; ``None`` for a part of CrewAI, and for one that returns a stream."""
    own = type(instance).__module__.startswith(_OWN)
    return None if own or getattr(instance, "stream", False) or runs_on(FLOW, instance, args, kwargs) else FLOW


def crew_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_WORKFLOW_NAME: _named(getattr(instance, "name", None), instance),
    }


def crew_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    inputs = KICKOFF.given(args, kwargs, "inputs")
    told = [{"role": "user", "parts": [{"type": "text", "content": encoded(inputs)}]}] if inputs else []
    return Request(messages=told, inputs=inputs)


def run_output(result: Any) -> list[Message]:
    raw = getattr(result, "raw", result)
    if raw is None:
        return []
    said = raw if isinstance(raw, str | dict | list) else str(raw)
    return [{"role": "assistant", "parts": [{"type": "text", "content": encoded(said)}]}]


def crew_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    if isinstance(value, CrewOutput):
        return value
    return CrewOutput(raw=text_of(value, "a crew's answer is a CrewOutput, text or messages"))


CREW = Adapter(
    kind="run",
    layer="crewai.crew",
    start=crew_start,
    reading=Reading(request=crew_request, output=run_output),
    editing=Editing(answer=crew_answer, native_error=aborted),
)


def flow_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return value


FLOW = replace(CREW, layer="crewai.flow", editing=replace(CREW.editing, answer=flow_answer))


# ------------------------------------------------------------------------------------------------- agents


def task_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if runs_on(AGENT, instance, args, kwargs) else AGENT


def name_of(agent: Any) -> str:
    """An agent's role as it was written: a crew puts its inputs into it, which are content and of any number."""
    return _named(getattr(agent, "_original_role", None) or getattr(agent, "role", None), agent)


def agent_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: name_of(instance),
    }
    if getattr(instance, "id", None):
        attributes[semconv.GEN_AI_AGENT_ID] = str(instance.id)
    return attributes


def task_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    task, context = TASK.given(args, kwargs, "task"), TASK.given(args, kwargs, "context")
    said = [one for one in (getattr(task, "description", None), context) if isinstance(one, str) and one]
    parts = [{"type": "text", "content": one} for one in said]
    return Request(messages=[{"role": "user", "parts": parts}], inputs={"context": context})


def task_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs
    if not isinstance(given, Mapping) or [*cast("Any", given)] != ["context"]:
        raise ValueError("of an agent's task only the context can be rewritten: inputs={'context': ...}")
    return TASK.having(args, kwargs, context=given["context"])


def task_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return text_of(value, "the answer to an agent's task is text or messages")


AGENT = Adapter(
    kind="agent.invoke",
    layer="crewai.agent",
    start=agent_start,
    reading=Reading(request=task_request, output=run_output),
    editing=Editing(rewrite=task_rewrite, takes=frozenset(("inputs",)), answer=task_answer, native_error=aborted),
)


def asked_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if runs_on(ASKED_AGENT, instance, args, kwargs) else ASKED_AGENT


def kickoff_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of ``kickoff``; ``None`` for CrewAI's own on an event loop: it returns ``kickoff_async``."""
    own = next((one for one in type(instance).__mro__ if "kickoff" in vars(one)), None)
    passes = own is Agent and asyncio._get_running_loop() is not None
    return None if passes else asked_chosen(instance, args, kwargs)


def asked_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return request_of(ASKED.given(args, kwargs, "messages"))


def asked_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return ASKED.having(args, kwargs, messages=rewritten(ASKED.given(args, kwargs, "messages"), change))


def asked_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    if isinstance(value, LiteAgentOutput):
        return value
    return LiteAgentOutput(
        raw=text_of(value, "an agent's answer is a LiteAgentOutput, text or messages"), agent_role=instance.role
    )


ASKED_AGENT = replace(
    AGENT,
    reading=replace(AGENT.reading, request=asked_request, message=chat_message, system_in_messages=True),
    editing=replace(AGENT.editing, rewrite=asked_rewrite, takes=TAKES, answer=asked_answer),
)
