"""Classes that define their own ``invoke``, which may or may not continue in the methods that the other points wrap.

If it does, with the same request, there is one operation: that of ``invoke``.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from spanhook.instrument.langchain_core import text, tool_bodies, tools
from spanhook.instrument.langchain_core.announcing import CHAT_INVOKE, TEXT_INVOKE, TOOL_INVOKE
from spanhook.instrument.langchain_core.answers import as_ai_message
from spanhook.instrument.langchain_core.chat import STREAM, chat_start
from spanhook.instrument.langchain_core.results import result_mark, result_output, result_response
from spanhook.instrument.langchain_core.text import text_of, text_start
from spanhook.instrument.layers import (
    LANGCHAIN_CHAT_INVOKE,
    LANGCHAIN_CHAT_STREAM,
    LANGCHAIN_LLM_INVOKE,
    LANGCHAIN_LLM_STREAM,
    LANGCHAIN_TOOL_INVOKE,
)
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Following,
    Kwargs,
    Message,
    Receiving,
    Request,
    Usage,
    first,
    with_first,
)

Function = Callable[..., Any]

# ----------------------------------------------------------------------------------------------- models


def _whole(result: Any) -> LLMResult | None:
    """What ``generate`` would have returned; ``None`` for results other than a model's answer, such as parsed ones."""
    if isinstance(result, BaseMessage):
        return LLMResult(generations=[[ChatGeneration(message=result)]])
    if isinstance(result, str):
        return LLMResult(generations=[[Generation(text=result)]])
    return None


def invoke_response(result: Any) -> tuple[Attributes, Usage | None]:
    whole = _whole(result)
    return ({}, None) if whole is None else result_response(whole)


def invoke_output(result: Any) -> list[Message]:
    whole = _whole(result)
    return [] if whole is None else result_output(whole)


def invoke_mark(result: Any) -> Any:
    whole = _whole(result)
    return None if whole is None else result_mark(whole)


def chat_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return as_ai_message(value)


def text_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return text_of(value)


def _invoke(stream: Adapter, start: Function, answer: Function, announce: Function, *layers: str) -> Adapter:
    """An adapter for ``invoke``, which takes the same arguments as ``stream``.

    Args:
        stream: The adapter for ``stream``.
        start, answer, announce: Its functions that differ.
        layers: Its layer, and that of ``stream``; calls of either absorb it.
    """
    return replace(
        stream,
        layer=layers[0],
        start=start,
        watch=None,
        vary=None,
        reading=replace(stream.reading, response=invoke_response, output=invoke_output, mark=invoke_mark),
        editing=replace(stream.editing, answer=answer, announce=announce),
        streaming=None,
        nesting=replace(stream.nesting, transport_of=frozenset(layers)),
    )


CHAT = _invoke(STREAM, chat_start, chat_answer, CHAT_INVOKE, LANGCHAIN_CHAT_INVOKE, LANGCHAIN_CHAT_STREAM)
TEXT = _invoke(text.STREAM, text_start, text_answer, TEXT_INVOKE, LANGCHAIN_LLM_INVOKE, LANGCHAIN_LLM_STREAM)


# ----------------------------------------------------------------------------------------------- tools


def _is_call(given: Any) -> bool:
    return isinstance(given, dict) and given.get("type") == "tool_call"


def _run(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of ``run`` for those of ``invoke``."""
    given = first(args, kwargs, "input")
    config = args[1] if len(args) > 1 else kwargs.get("config")
    if _is_call(given):
        return (given["args"],), {"tool_call_id": given["id"], "config": config}
    return (given,), {"tool_call_id": None, "config": config}


def _as_run(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function of the adapter for ``run`` to ``invoke``."""
    return lambda instance, args, kwargs, *more: function(instance, *_run(args, kwargs), *more)


def tool_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    (changed,), _ = tools.tool_rewrite(instance, *_run(args, kwargs), change)
    return _with_input(args, kwargs, changed)


def tool_received(instance: Any, args: Args, kwargs: Kwargs, arguments: Any) -> tuple[Args, Kwargs]:
    (changed,), _ = tool_bodies.tool_received(instance, *_run(args, kwargs), arguments)
    return _with_input(args, kwargs, changed)


def _with_input(args: Args, kwargs: Kwargs, changed: Any) -> tuple[Args, Kwargs]:
    given = first(args, kwargs, "input")
    return with_first(args, kwargs, "input", {**given, "args": changed} if _is_call(given) else changed)


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return tools.tool_request(instance, *_run(args, kwargs))


def tool_follows(
    instance: Any, args: Args, kwargs: Kwargs, result: Any, error: BaseException | None
) -> Iterable[Following]:
    return tools.tool_handoffs(instance, *_run(args, kwargs), result, error)


TOOL = replace(
    tools.TOOL,
    layer=LANGCHAIN_TOOL_INVOKE,
    start=_as_run(tools.tool_start),
    watch=None,
    vary=None,
    follows=tool_follows,
    reading=replace(tools.TOOL.reading, request=tool_request),
    editing=replace(
        tools.TOOL.editing,
        rewrite=tool_rewrite,
        answer=_as_run(tools.tool_answer),
        announce=TOOL_INVOKE,
        rejected=_as_run(tools.tool_rejected),
    ),
    nesting=replace(
        tools.TOOL.nesting,
        carries=_as_run(tools.tool_carries),
        goes_on=None,
        transport_of=frozenset((LANGCHAIN_TOOL_INVOKE,)),
    ),
    receiving=Receiving(shown=_as_run(tool_bodies.tool_shown), received=tool_received),
)
