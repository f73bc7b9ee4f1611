"""Hooks' answers in the library's own types: a message, or a message with what it was parsed to."""

from typing import Any

from fast_agent.mcp.prompt_message_extended import PromptMessageExtended
from fast_agent.types.llm_stop_reason import LlmStopReason
from pydantic import BaseModel

from spanhook.instrument.fast_agent.messages import written
from spanhook.instrument.wire import messages_in

_EXPECTED = "a model's answer is text, a message of fast-agent, or a message in role/parts form"


def message_of(value: Any) -> Any:
    """What a model would have returned.

    Args:
        value: Text, a message of fast-agent, or messages in role/parts form, of which the last one counts.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(value, PromptMessageExtended):
        return value
    messages = messages_in(value, _EXPECTED)
    if not messages:
        raise TypeError(f"{_EXPECTED}, not an empty list")
    made = written({**messages[-1], "role": "assistant"})
    made.stop_reason = LlmStopReason.TOOL_USE if made.tool_calls else LlmStopReason.END_TURN
    return made


def amended(before: Any, value: Any) -> Any:
    """``message_of`` for a value that replaces a model's message, whose channels it keeps, except for reasoning."""
    made = message_of(value)
    if made is value:
        return made
    channels = {name: told for name, told in (before.channels or {}).items() if name in _KEPT}
    return made.model_copy(update={"channels": channels or None})


_KEPT = ("fast-agent-timing", "fast-agent-usage")


def structured_of(instance: Any, model: type[BaseModel], value: Any) -> Any:
    """What ``structured`` would have returned for a value: also an object of the model asked for, or a dict of one."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, BaseModel) and not isinstance(value, PromptMessageExtended):
        value = value.model_dump_json()
    elif isinstance(value, dict) and not {"parts", "content"} & value.keys():
        value = model.model_validate(value).model_dump_json()
    return instance._structured_from_multipart(message_of(value), model)
