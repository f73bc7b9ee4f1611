"""What chat clients and agents return: responses and their updates, and what they report."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import AgentResponse, AgentResponseUpdate, ChatResponse, ChatResponseUpdate, Content

from spanhook import semconv
from spanhook.instrument.agent_framework.messages import read, said_in
from spanhook.instrument.wire import bounded, counted, finished, usage_places
from spanhook.model import Attributes, Message, Usage

_PLACES = usage_places(
    input_tokens="input_token_count",
    output_tokens="output_token_count",
    cache_read_tokens="cache_read_input_token_count",
    cache_write_tokens="cache_creation_input_token_count",
    reasoning_tokens="reasoning_output_token_count",
)


def usage_in(told: Any) -> Usage | None:
    """The usage that a response reports, if any."""
    if not isinstance(told, Mapping) or not told:
        return None
    used = counted(dict(told), _PLACES)
    return None if used is None else bounded(used)


def noted(response: Any) -> Attributes:
    """End attributes of a response, or of an update."""
    attributes: Attributes = {}
    for name, key in (("response_id", semconv.GEN_AI_RESPONSE_ID), ("model", semconv.GEN_AI_RESPONSE_MODEL)):
        value = getattr(response, name, None)
        if isinstance(value, str) and value:
            attributes[key] = value
    reason = response.finish_reason
    if isinstance(reason, str) and reason:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    return attributes


def output_of(result: Any) -> list[Message]:
    """The messages of a response."""
    if not isinstance(result, AgentResponse | ChatResponse):
        return []
    said = [read(one) for one in result.messages]
    if said:
        said[-1] = finished(said[-1], getattr(result, "finish_reason", None))
    return said


# ------------------------------------------------------------------------------------------------- answers


def chat_response(value: Any) -> Any:
    """A client's response for what a hook answers."""
    return value if isinstance(value, ChatResponse) else ChatResponse(messages=said_in(value), finish_reason="stop")


def agent_response(value: Any) -> Any:
    """An agent's response for what a hook answers."""
    return value if isinstance(value, AgentResponse) else AgentResponse(messages=said_in(value))


def chat_updates(value: Any) -> list[Any]:
    """What a hook answers as the updates of a stream."""
    response = chat_response(value)
    updates = [
        ChatResponseUpdate(
            contents=message.contents,
            role=message.role,
            author_name=message.author_name,
            message_id=message.message_id,
            response_id=response.response_id,
            model=response.model,
        )
        for message in response.messages
    ]
    used = [Content.from_usage(response.usage_details)] if response.usage_details else []
    last = ChatResponseUpdate(contents=used, role="assistant", finish_reason=response.finish_reason)
    return [*updates, last]


def agent_updates(value: Any) -> list[Any]:
    return [
        AgentResponseUpdate(
            contents=message.contents,
            role=message.role,
            author_name=message.author_name,
            message_id=message.message_id,
        )
        for message in agent_response(value).messages
    ]


def chat_response_of(updates: Sequence[Any], form: Any = None) -> Any:
    """The response that updates make."""
    return ChatResponse.from_updates(updates, output_format_type=form)


def agent_response_of(updates: Sequence[Any], form: Any = None) -> Any:
    return AgentResponse.from_updates(updates, output_format_type=form)
