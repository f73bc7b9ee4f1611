"""What models and agents are asked: text, or messages as in chat completions."""

from typing import Any, cast

from spanhook.instrument.formats.openai import Chat
from spanhook.model import Carried, Change, Request

_CHAT = Chat()
TAKES = frozenset(("messages", "system", "inputs"))
"""What can be changed of it."""


def messages_of(asked: Any) -> list[Any]:
    if isinstance(asked, str):
        return [{"role": "user", "content": asked}]
    return [*cast("Any", asked)] if isinstance(asked, list | tuple) else []


def request_of(asked: Any, model: str = "", tools: Any = None) -> Request:
    found = _CHAT.request({"messages": messages_of(asked), "model": model, "tools": tools})
    return Request(
        messages=found.messages,
        system=found.system,
        tools=found.tools,
        inputs=asked,
        model=model,
        tool_definitions=tools or (),
    )


def carried_in(asked: Any) -> Carried:
    return _CHAT.carries({"messages": messages_of(asked)})


def rewritten(asked: Any, change: Change) -> Any:
    """What is asked instead: text for text, if it can be said so."""
    if isinstance(change.inputs, str) and change.messages is None and change.system is None:
        return change.inputs
    body: dict[str, Any] = {"messages": messages_of(asked)}
    _CHAT.rewrite(body, change)
    messages = body["messages"]
    if isinstance(asked, str) and len(messages) == 1 and messages[0].get("role") == "user":
        said = messages[0].get("content")
        return said if isinstance(said, str) else messages
    return messages
