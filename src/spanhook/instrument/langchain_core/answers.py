"""Answers of hooks as LangChain's own results, with the ids that it gives to messages."""

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult

from spanhook.instrument.langchain_core.messages import from_message

_PREFIX = "lc_run-"
"""The prefix of the ids that LangChain gives to messages, before the id of the run."""


def as_ai_message(value: Any) -> AIMessage:
    """The AI message for a hook's answer.

    Raises:
        TypeError: It is neither text, a message nor a result.
    """
    if isinstance(value, LLMResult):
        value = value.generations[0][0]
    if isinstance(value, ChatResult):
        value = value.generations[0]
    if isinstance(value, ChatGeneration):
        value = value.message
    if isinstance(value, dict) and "role" in value:
        value = from_message(value)
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = from_message(value[-1])
    if isinstance(value, AIMessage):
        return value
    if isinstance(value, str):
        return AIMessage(content=value)
    raise TypeError(f"a chat model's answer is text, an AIMessage or an LLMResult, not {type(value).__name__}")


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """A whole message as the only chunk of a stream."""
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(
        content=message.content,
        id=message.id,
        tool_calls=message.tool_calls,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )


def generations_of(result: Any, index: int) -> list[Any]:
    """The generations of a model's result for the ``index``th prompt."""
    if isinstance(result, LLMResult):
        return list(result.generations[min(index, len(result.generations) - 1)])
    return [ChatGeneration(message=result) if isinstance(result, BaseMessage) else Generation(text=str(result))]


def as_events(message: BaseMessage) -> Iterator[Any]:
    """A whole message as version 3 events."""
    from langchain_core.language_models._compat_bridge import message_to_events

    return message_to_events(message, message_id=message.id)


def id_in(run: Any) -> str:
    """The id of the message that a run ends with."""
    return f"{_PREFIX}-{run}"


def as_new(message: Any, identifier: str | None) -> None:
    """Give an answer's message the id of its run, unless it has one of its own, and mark it as one that costs nothing,
    as LangChain does with messages from its cache.

    An id from an earlier run is not its own: LangGraph would take it for the same message again.
    """
    if message.id is None or message.id.startswith(_PREFIX):
        message.id = identifier
    used = getattr(message, "usage_metadata", None)
    if used:
        message.usage_metadata = {**used, "total_cost": 0}
