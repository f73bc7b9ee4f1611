"""What an agent context of the agent-hooks contract 0.1 says of a call, and back: messages, responses, arguments.

Both sides of the contract share it: ``agent_hooks``, the host, and ``remote_policy``, which asks one service. It knows
no operation and no SDK. See https://github.com/responsibleai/agent-hooks, section 4 of its specification.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from spanhook.model import exact_text

SPEC = "agent-hooks/0.1"
FRAMEWORK = "spanhook"
UNNAMED = "unnamed"
WRAPPED = "value"
"""The member of an object that stands for what is neither text nor an object, such as a list."""
INPUT = "input"
"""The member of ``args`` that stands for the input of a tool that takes no arguments by name."""

Data = dict[str, Any]
Message = Mapping[str, Any]


def content_of(value: Any) -> Any:
    """Plain data as content, which is text or an object."""
    return cast("Any", value) if isinstance(value, str | dict) else {WRAPPED: value}


def content_back(told: Any, content: Any) -> Any:
    """The plain data that stands in other content; ``told`` is what was made of the data before."""
    wrapped = _is_wrapped(told) and _is_wrapped(content)
    return cast("Data", content)[WRAPPED] if wrapped else content


def _is_wrapped(content: Any) -> bool:
    return isinstance(content, dict) and cast("Data", content).keys() == {WRAPPED}


def arguments_of(arguments: Any) -> Data:
    """Arguments as an object, also those of a tool that takes none by name, or that are JSON."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            read: Any = json.loads(arguments)
            return cast("Data", read) if isinstance(read, dict) else {INPUT: arguments}
    return cast("Data", arguments) if isinstance(arguments, dict) else {INPUT: arguments}


# ----------------------------------------------------------------------------------------------- messages


def messages_of(messages: Iterable[Message]) -> list[Data]:
    """Messages in role/parts form as the contract has them: content is text, or an object with the parts."""
    return [_message(message) for message in messages]


def messages_back(messages: Sequence[Message], told: Sequence[Any], wanted: Any) -> list[Data]:
    """Other messages in role/parts form; those that are as they were told stay exactly as they are.

    Args:
        messages: The messages, in role/parts form.
        told: What ``messages_of`` made of them.
        wanted: What is to stand there instead.

    Raises:
        ValueError: It is no list of messages.
    """
    if not isinstance(wanted, list):
        raise ValueError("expected a list of messages")
    made: list[Data] = []
    for place, one in enumerate(cast("list[Any]", wanted)):
        if place < len(told) and told[place] == one:
            made.append(dict(messages[place]))
            continue
        same = next((index for index, other in enumerate(told) if other == one), None)
        made.append(_message_back(one) if same is None else dict(messages[same]))
    return made


def _message(message: Message) -> Data:
    role, parts = exact_text(message.get("role", "user")), _parts(message)
    kinds = [part.get("type") for part in parts]
    if kinds == ["tool_call_response"]:
        [part] = parts
        return {"role": role, "content": content_of(part.get("response")), "tool_call_id": str(part.get("id") or "")}
    if all(kind in ("text", "tool_call") for kind in kinds):
        made: Data = {"role": role, "content": _text(parts)}
        calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
        return {**made, "tool_calls": calls} if calls else made
    return {"role": role, "content": {"parts": parts}}


def _message_back(one: Any) -> Data:
    if not isinstance(one, dict):
        raise ValueError("expected messages that are objects")
    message = cast("Data", one)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        raise ValueError("expected messages with a role")
    if "tool_call_id" in message:
        response = content_back({WRAPPED: None}, content)
        return {
            "role": role,
            "parts": [{"type": "tool_call_response", "id": message["tool_call_id"], "response": response}],
        }
    return {"role": role, "parts": [*_content_back(content), *_calls_back(message.get("tool_calls", []))]}


def _content_back(content: Any) -> list[Data]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    parts: Any = cast("Data", content).get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in cast("list[Any]", parts)):
        raise ValueError("expected content that is text, or an object with parts")
    return cast("list[Data]", parts)


# ----------------------------------------------------------------------------------------------- responses


def response_of(messages: Sequence[Message], finish_reasons: Sequence[str] = ()) -> Data:
    """What a model has said: content, tool calls, and why it stopped.

    Args:
        messages: The output messages in role/parts form, one for each choice.
        finish_reasons: Why the model stopped, one for each choice.
    """
    parts = [part for message in messages for part in _parts(message)]
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    others = [part for part in parts if part.get("type") != "tool_call"]
    content: Any = {"parts": others}
    if len(messages) > 1:
        content = {"choices": messages_of(messages)}
    elif all(part.get("type") == "text" for part in others):
        content = _text(others) if others else None
    reason = next(iter(finish_reasons), "") or ("tool_calls" if calls else "stop")
    return {"content": content, "tool_calls": calls, "finish_reason": reason}


def response_back(messages: Sequence[Message], told: Data, wanted: Any) -> Data:
    """Another message in role/parts form; what is as it was told stays exactly as it is.

    Args:
        messages: The output messages, of which there is one.
        told: What ``response_of`` made of them.
        wanted: What is to stand there instead.

    Raises:
        ValueError: It is no response, or there are several choices.
    """
    if not isinstance(wanted, dict) or not cast("Data", wanted).keys() >= {"content", "tool_calls"}:
        raise ValueError("expected a response with content and tool_calls")
    if len(messages) > 1:
        raise ValueError("a response with several choices cannot be changed")
    response = cast("Data", wanted)
    parts = [part for message in messages for part in _parts(message)]
    said = [part for part in parts if part.get("type") != "tool_call"]
    calls = [part for part in parts if part.get("type") == "tool_call"]
    if response["content"] != told["content"]:
        said = _content_back(response["content"])
    if response["tool_calls"] != told["tool_calls"]:
        calls = _calls_back(response["tool_calls"])
    message: Data = {"role": "assistant", **(messages[0] if messages else {}), "parts": [*said, *calls]}
    reason = response.get("finish_reason")
    if isinstance(reason, str) and reason != told["finish_reason"]:
        message["finish_reason"] = reason
    return message


# ----------------------------------------------------------------------------------------------- parts


def _parts(message: Message) -> list[Data]:
    parts: Any = message.get("parts")
    return cast("list[Data]", parts) if isinstance(parts, list) else []


def _text(parts: Iterable[Data]) -> str:
    return "".join(str(part.get("content") or "") for part in parts if part.get("type") == "text")


def _call(part: Data) -> Data:
    return {
        "id": str(part.get("id") or UNNAMED),
        "name": exact_text(part.get("name")) or UNNAMED,
        "args": arguments_of(part.get("arguments")),
    }


def _calls_back(calls: Any) -> list[Data]:
    made: list[Data] = []
    given = cast("list[Any]", calls) if isinstance(calls, list) else [None]
    for one in given:
        call: Data = cast("Data", one) if isinstance(one, dict) else {}
        arguments: Any = call.get("args")
        if not (isinstance(call.get("name"), str) and isinstance(arguments, dict)):
            raise ValueError("expected tool_calls with name and args")
        made.append({"type": "tool_call", "id": call.get("id", ""), "name": call["name"], "arguments": arguments})
    return made
