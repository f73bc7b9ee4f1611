"""Clients that answer in ``get_response`` itself, which an application may override. The library's own are not gated
here: they end in ``_inner_get_response``.

An override may pass on to those. That is the same call, unless it is around the loop that calls tools: hooks see what a
model says before its tools are called, so that each turn is a call then, inside of the override's.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from agent_framework import FunctionInvocationLayer, ResponseStream

from spanhook.instrument.agent_framework import OWN, models
from spanhook.instrument.agent_framework.describing import options_of
from spanhook.instrument.agent_framework.models import MODEL, model_carries, model_finalized, model_request
from spanhook.instrument.agent_framework.responses import chat_updates
from spanhook.instrument.agent_framework.streams import handing, is_asked_for
from spanhook.instrument.signatures import Signature
from spanhook.model import Adapter, Args, Change, Kwargs, current_record

CALL = Signature("messages")


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
    if not is_asked_for(instance.get_response, args, kwargs):
        return CLIENT
    return AWAITED if iscoroutinefunction(instance.get_response) else STREAM


def inner_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
    """The adapter of a call of ``_inner_get_response``."""
    adapter = models.chosen(instance, args, kwargs)
    return _TURNS[adapter] if _is_turn(instance, kwargs) else adapter


def _is_turn(client: Any, kwargs: Kwargs) -> bool:
    """Whether a model is called in the loop that calls tools, inside of an override's call."""
    op = current_record()
    if op is None or op.adapter not in (CLIENT, STREAM, AWAITED) or op.instance is not client:
        return False
    return _has_tools(client, kwargs) and _is_around_the_loop(type(client))


def _has_tools(client: Any, kwargs: Kwargs) -> bool:
    """Whether the loop has tools; the model is not told of all that it would call."""
    configuration: Any = getattr(client, "function_invocation_configuration", None) or {}
    return bool(options_of(kwargs).get("tools") or configuration.get("additional_tools"))


def _is_around_the_loop(cls: type) -> bool:
    """Whether the first class with ``get_response`` is an application's, in front of the library's loop."""
    first = next(one for one in cls.__mro__ if "get_response" in one.__dict__)
    return issubclass(cls, FunctionInvocationLayer) and first.__module__.partition(".")[0] not in OWN


def _named(args: Args, kwargs: Kwargs) -> Kwargs:
    """The arguments of a call by name."""
    return {**kwargs, "messages": CALL.given(args, kwargs, "messages")}


def _read(function: Callable[[Any, Args, Kwargs], Any]) -> Callable[[Any, Args, Kwargs], Any]:
    """The same of a call whose messages may be given by place."""

    def read(instance: Any, args: Args, kwargs: Kwargs) -> Any:
        return function(instance, (), _named(args, kwargs))

    return read


def client_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    _, named = models.model_rewrite(instance, (), _named(args, kwargs), change)
    changes = {name: named[name] for name in ("messages", "options") if named[name] or name in kwargs}
    return CALL.having(args, kwargs, **changes)


def _finalized(instance: Any, args: Args, kwargs: Kwargs, updates: Sequence[Any]) -> Any:
    return model_finalized(instance, (), _named(args, kwargs), updates)


def stream_of(result: Any) -> str:
    return "async" if hasattr(result, "__aiter__") else ""


def awaited_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What a hook answers, as a stream."""
    updates = chat_updates(value)

    async def said() -> AsyncIterator[Any]:
        for one in updates:
            yield one

    return ResponseStream(said(), finalizer=partial(_finalized, instance, args, kwargs))


CLIENT = replace(
    MODEL,
    reading=replace(MODEL.reading, request=_read(model_request)),
    editing=replace(MODEL.editing, rewrite=client_rewrite),
    nesting=replace(MODEL.nesting, carries=_read(model_carries)),
)
STREAMING = replace(models.STREAMING, hands_out=handing(_finalized))
STREAM = replace(
    models.STREAM,
    reading=replace(models.STREAM.reading, request=_read(model_request)),
    editing=replace(models.STREAM.editing, rewrite=client_rewrite),
    streaming=STREAMING,
    nesting=replace(models.STREAM.nesting, carries=_read(model_carries)),
)
AWAITED = replace(
    STREAM,
    editing=replace(STREAM.editing, answer=awaited_answer),
    streaming=replace(STREAMING, hands_out=None, stream_of=stream_of),
)
"""A coroutine function that returns a stream."""

_TURNS = {one: replace(one, nesting=replace(one.nesting, transport_of=frozenset())) for one in (MODEL, models.STREAM)}
