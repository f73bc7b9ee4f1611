"""``run_tool_loop`` and ``arun_tool_loop``: they call a model, and a function of the application for the tools that it
asks for.
"""

import json
from collections.abc import Callable
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.formats.openai import Chat
from spanhook.instrument.functions import Functions
from spanhook.instrument.litellm.harness import PROVIDER, said_by, text_of
from spanhook.instrument.wire import decoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Reading,
    Request,
    exact_text,
    first,
    with_first,
)

_CHAT = Chat()
_NAME = "run_tool_loop"


def _body(kwargs: Kwargs) -> dict[str, Any]:
    messages = list(cast("Any", kwargs.get("messages") or ()))
    return {"messages": messages, "model": kwargs.get("model"), "tools": kwargs.get("tools")}


def loop_start(_instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: _NAME}


def loop_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    found = _CHAT.request(_body(kwargs))
    return Request(messages=found.messages, system=found.system, tools=found.tools, inputs=kwargs.get("messages"))


def loop_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = _body(kwargs)
    if change.inputs is not None:
        body["messages"] = list(change.inputs)
    _CHAT.rewrite(body, Change(messages=change.messages, system=change.system))
    return args, {**kwargs, "messages": body["messages"]}


def loop_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return text_of(value, "a loop's answer is text or messages")


LOOP = Adapter(
    kind="agent.invoke",
    layer="litellm.loop",
    start=loop_start,
    reading=Reading(request=loop_request, output=said_by, system_in_messages=True),
    editing=Editing(rewrite=loop_rewrite, takes=frozenset(("inputs", "messages", "system")), answer=loop_answer),
)


# ------------------------------------------------------------------------------------------------- tools


class Executor:
    """The function that executes a loop's tools, as something that can be wrapped.

    Args:
        function: The application's.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, tool_call: Any) -> Any:
        return self.function(tool_call)


class AsyncExecutor(Executor):
    """The same of the async loop."""

    async def __call__(self, tool_call: Any) -> Any:
        return await self.function(tool_call)


def loop_begins(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return _executed_by(Executor, args, kwargs)


def async_loop_begins(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return _executed_by(AsyncExecutor, args, kwargs)


def _executed_by(made: type[Executor], args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    function = kwargs.get("execute_tool")
    return (args, {**kwargs, "execute_tool": made(function)}) if callable(function) else (args, kwargs)


def _call(args: Args, kwargs: Kwargs) -> Any:
    return first(args, kwargs, "tool_call")


def _with_arguments(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    """The call for a copy: the model's own is what it has said."""
    call = _call(args, kwargs).model_copy(deep=True)
    call.function.arguments = json.dumps(given)
    return with_first(args, kwargs, "tool_call", call)


def _message(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> dict[str, Any]:
    """The message that tells the model of a result."""
    if isinstance(value, dict) and "role" in value:
        return cast("dict[str, Any]", value)
    said = value if isinstance(value, str) else json.dumps(value)
    return {"role": "tool", "tool_call_id": _call(args, kwargs).id, "content": said}


CALL = Functions(
    layer="litellm.tool",
    name=lambda _instance, args, kwargs: exact_text(_call(args, kwargs).function.name),
    call_id=lambda _instance, args, kwargs: _call(args, kwargs).id,
    arguments=lambda _instance, args, kwargs: decoded(_call(args, kwargs).function.arguments),
    with_arguments=_with_arguments,
    output=lambda result: result.get("content") if isinstance(result, dict) else result,
    answer=_message,
    rejected=_message,
).adapter()
