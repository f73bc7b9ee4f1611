"""Runs of agents: ``generate``, ``structured`` and ``structured_schema``, in which ``send`` and calls of agents end."""

from dataclasses import replace
from typing import Any

from spanhook import semconv
from spanhook.instrument.fast_agent.arguments import GENERATE as CALL
from spanhook.instrument.fast_agent.conversations import messages_carry, messages_rewrite
from spanhook.instrument.fast_agent.lifecycle import PROVIDER
from spanhook.instrument.fast_agent.messages import listed, read, read_all
from spanhook.instrument.fast_agent.responses import note_cancelled
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    Usage,
    exact_text,
)

LAYER = "fast_agent.agent"


def agent_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: exact_text(instance.name)}


def agent_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = CALL.given(args, kwargs, "messages")
    instruction = getattr(instance, "instruction", None)
    return Request(
        messages=read_all(listed(given)),
        system=instruction if isinstance(instruction, str) else "",
        inputs=given,
    )


def agent_response(result: Any) -> tuple[Attributes, Usage | None]:
    note_cancelled(result)
    return {}, None


def structured_response(result: Any) -> tuple[Attributes, Usage | None]:
    return agent_response(result[1])


def agent_output(result: Any) -> list[Message]:
    return [read(result)]


def structured_output(result: Any) -> list[Message]:
    return [read(result[1])]


def agent_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a run of an agent cannot be answered; refuse it, rewrite its messages, or answer its model calls")


GENERATE = Adapter(
    kind="agent.invoke",
    layer=LAYER,
    start=agent_start,
    reading=Reading(request=agent_request, message=read, response=agent_response, output=agent_output),
    editing=Editing(rewrite=messages_rewrite, takes=frozenset(("inputs", "messages")), answer=agent_answer),
    nesting=Nesting(
        role="framework",
        carries=messages_carry,
        transport_of=frozenset((LAYER,)),  # one method of an agent may be made of another
    ),
)
STRUCTURED = replace(
    GENERATE, reading=replace(GENERATE.reading, response=structured_response, output=structured_output)
)
