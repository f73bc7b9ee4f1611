"""What each interception point says of an operation, and how what interceptors make of it gets back into the call.

It knows no SDK: a point names the method of the contract's builder that makes its context.
"""

import json
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_core import to_jsonable_python

from spanhook.hooks import _agent_context as contract
from spanhook.model import Operation

_CHANGED = "changed as its interceptors say"
_ROLES = ("user", "system")
_PLAIN = (str, int, float, list, tuple, Mapping, type(None))


_NAMES = {"llm.call": ("pre_model_call", "post_model_call"), "tool.execute": ("pre_tool_call", "post_tool_call")}
_OF_AGENTS = ("input", "output")


def name_of(op: Operation) -> str:
    """The point that an operation is at."""
    return _NAMES.get(op.kind, _OF_AGENTS)[op.phase != "pre"]


def _no_way_back(_target: Any) -> None:
    raise ValueError("what this point is about cannot be changed")


@dataclass(frozen=True, slots=True)
class Point:
    """One interception point of an operation.

    Attributes:
        name: Its name in the contract.
        members: What its context is made from.
        change: Puts another target into the call; it raises ``ValueError`` if that is none.
    """

    name: str
    members: Mapping[str, Any] = field(default_factory=dict[str, Any])
    change: Callable[[Any], None] = _no_way_back


def plain(value: Any) -> Any:
    """A value as plain data.

    Raises:
        ValueError, TypeError, RecursionError: It cannot be written as JSON.
    """
    return to_jsonable_python(value)


# ----------------------------------------------------------------------------------------------- sessions


def startup(tools: list[str]) -> Point:
    """A session begins."""
    return Point("agent_startup", {"tools_registered": tools})


def shutdown(reason: str) -> Point:
    """A session has ended."""
    return Point("agent_shutdown", {"reason": reason})


def asked(op: Operation) -> Point:
    """The input of an agent: a single message's content, or all of it."""
    request = op.request
    inputs: Any = request.inputs
    if request.messages and len(request.messages) == 1 and _only_messages(inputs):
        [told] = contract.messages_of(plain(request.messages))
        role = told["role"] if told["role"] in _ROLES else "external"

        def say(target: Any) -> None:
            wanted = [{**told, "content": _member(target, "content")}]
            op.replace(messages=contract.messages_back(request.messages, [told], wanted), reason=_CHANGED)

        return Point("input", {"content": told["content"], "role": role}, say)
    only_text = isinstance(inputs, str) and len(request.arguments) < 2
    by_name = bool(request.arguments) and not only_text
    given = request.arguments if by_name else inputs
    whole = contract.content_of(plain(given))

    def put(target: Any) -> None:
        value = contract.content_back(whole, _member(target, "content"))
        op.replace(**{"arguments" if by_name else "inputs": value}, reason=_CHANGED)

    return Point("input", {"content": whole, "role": "user"}, put)


def answered(op: Operation) -> Point:
    """The output of an agent, which is read-only: what it says, if that is all of it, or it is no plain data."""
    said = op.response.messages
    result: Any = op.result
    if said and (_only_messages(result) or not isinstance(result, _PLAIN)):
        told = contract.response_of(plain(said))["content"]
        return Point("output", {"content": "" if told is None else told})
    return Point("output", {"content": contract.content_of(plain(result))})


def _only_messages(state: Any) -> bool:
    return isinstance(state, Mapping) and set(cast("Mapping[str, Any]", state)) == {"messages"}


def _member(target: Any, name: str) -> Any:
    if not isinstance(target, dict) or name not in target:
        raise ValueError(f"expected an object with {name}")
    return cast("dict[str, Any]", target)[name]


# ----------------------------------------------------------------------------------------------- models


def asking(op: Operation) -> Point:
    """A model is going to be asked."""
    request = op.request
    messages = request.messages
    apart = bool(request.system) and all(message.get("role") != "system" for message in messages)
    system = {"role": "system", "content": request.system}
    told = contract.messages_of(plain(messages))

    def say(target: Any) -> None:
        wanted = target
        if apart and isinstance(target, list):
            first = next(iter(cast("list[Any]", target)), None)
            if first != system:
                raise ValueError("system instructions that stand apart from the messages cannot be changed")
            wanted = cast("list[Any]", target)[1:]
        op.replace(messages=contract.messages_back(messages, told, wanted), reason=_CHANGED)

    members: dict[str, Any] = {"model_id": _model(op), "messages": [system, *told] if apart else told}
    if request.tools:
        members["tools"] = [{"name": name} for name in request.tools]
    return Point("pre_model_call", members, say)


def said(op: Operation) -> Point:
    """A model has answered."""
    messages = [dict(message) for message in op.response.messages]
    told = contract.response_of(plain(messages), op.response.finish_reasons)

    def say(target: Any) -> None:
        message = contract.response_back(messages, told, target)
        only_text = isinstance(op.result, str) and isinstance(target["content"], str) and not target["tool_calls"]
        op.respond(target["content"] if only_text else [message], reason=_CHANGED)

    used = op.usage
    usage = {"prompt_tokens": used.input_tokens or 0, "completion_tokens": used.output_tokens or 0}
    return Point("post_model_call", {"model_id": _model(op), "usage": usage, **told}, say)


def saying(op: Operation, content: str, finish_reason: str) -> Point:
    """A model is answering: the text that has arrived so far."""
    members: dict[str, Any] = {"content": content, "tool_calls": [], "finish_reason": finish_reason}
    return Point("post_model_call", {"model_id": _model(op), **members})


def _model(op: Operation) -> str:
    return op.model or contract.UNNAMED


# ----------------------------------------------------------------------------------------------- tools


def calling(op: Operation, call_id: str) -> Point:
    """A tool is going to be executed."""
    request = op.request
    by_name = isinstance(request.arguments, dict) and bool(request.arguments or request.inputs is None)  # pyright: ignore[reportUnnecessaryIsInstance]

    def call(target: Any) -> None:
        if not isinstance(target, dict):
            raise ValueError("expected arguments by name")
        if by_name or contract.INPUT not in target:
            op.replace(arguments=cast("dict[str, Any]", target), reason=_CHANGED)
        else:
            op.replace(inputs=_member(target, contract.INPUT), reason=_CHANGED)

    return Point("pre_tool_call", _call(op, call_id), call)


def returned(op: Operation, call_id: str) -> Point:
    """A tool has returned."""
    result: Any = op.result
    failed = any(getattr(result, name, None) in (True, "error") for name in ("status", "isError", "is_error"))

    def answer(target: Any) -> None:
        op.respond(target, reason=_CHANGED)

    return Point("post_tool_call", {**_call(op, call_id), "value": _value(op), "is_error": failed, **_took(op)}, answer)


def _value(op: Operation) -> Any:
    """What a tool has returned; of a framework's message, what the model gets to see of it."""
    value: Any = op.response.value
    if not hasattr(value, "content"):
        return plain(value)
    parts = [part for message in op.response.messages for part in message.get("parts", ())]
    seen = [part.get("response") for part in parts if part.get("type") == "tool_call_response"]
    return _unwritten(plain(seen[0])) if len(parts) == len(seen) == 1 else plain(value)


def _unwritten(value: Any) -> Any:
    """An object that a framework has written as JSON for the model; any other text as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            read = json.loads(value)
            if json.dumps(read, ensure_ascii=False) == value:
                return read
    return value


def failed(op: Operation, call_id: str) -> Point:
    """A tool has raised an exception, which the model may get to see."""
    error = op.error
    said = "" if error is None else "".join(traceback.format_exception_only(error)).strip()
    return Point("post_tool_call", {**_call(op, call_id), "value": said, "is_error": True, **_took(op)})


def _call(op: Operation, call_id: str) -> dict[str, Any]:
    request = op.request
    given: Any = request.arguments or request.inputs
    return {
        "call_id": call_id,
        "name": op.name or contract.UNNAMED,
        "args": contract.arguments_of(plain(given)),
    }


def _took(op: Operation) -> dict[str, Any]:
    return {"duration_ms": round(op.duration * 1000, 3)}
