"""Clients that only have the methods of one, and are no ``BaseChatClient``: gated where an agent asks them.

What they do inside of that call is their own: if they call tools, all of it is one call of a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agent_framework import BaseChatClient

from spanhook.instrument.agent_framework.models import (
    MODEL,
    STREAMING,
    model_carries,
    model_finalized,
    model_request,
    model_rewrite,
    model_start,
    stream_start,
)
from spanhook.instrument.agent_framework.models import STREAM as MODEL_STREAM
from spanhook.instrument.agent_framework.streams import handing
from spanhook.instrument.signatures import Signature
from spanhook.model import Adapter, Args, Change, Kwargs

CALL = Signature("context")
_PLACES = {"messages": "session_messages", "options": "chat_options"}
"""Where an agent notes what it asks its client with."""


def chosen(instance: Any, _args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one of a client that has a point of its own."""
    if isinstance(instance.client, BaseChatClient):
        return None
    return STREAM if kwargs.get("stream") else OTHER


def _asked(args: Args, kwargs: Kwargs) -> Kwargs:
    """What the client is asked with."""
    context = CALL.given(args, kwargs, "context")
    return {name: context[place] for name, place in _PLACES.items()}


def _read(function: Callable[[Any, Args, Kwargs], Any]) -> Callable[[Any, Args, Kwargs], Any]:
    """The same of a client's call, for an agent's."""

    def read(instance: Any, args: Args, kwargs: Kwargs) -> Any:
        return function(instance.client, (), _asked(args, kwargs))

    return read


def other_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    _, asked = model_rewrite(instance.client, (), _asked(args, kwargs), change)
    context = CALL.given(args, kwargs, "context")
    return CALL.having(args, kwargs, context={**context, **{_PLACES[name]: value for name, value in asked.items()}})


def _finalized(instance: Any, args: Args, kwargs: Kwargs, updates: Sequence[Any]) -> Any:
    return model_finalized(instance.client, (), _asked(args, kwargs), updates)


OTHER = replace(
    MODEL,
    start=_read(model_start),
    reading=replace(MODEL.reading, request=_read(model_request)),
    editing=replace(MODEL.editing, rewrite=other_rewrite),
    nesting=replace(MODEL.nesting, carries=_read(model_carries)),
)
STREAM = replace(
    MODEL_STREAM,
    start=_read(stream_start),
    reading=replace(MODEL_STREAM.reading, request=_read(model_request)),
    editing=replace(MODEL_STREAM.editing, rewrite=other_rewrite),
    streaming=replace(STREAMING, hands_out=handing(_finalized)),
    nesting=replace(MODEL_STREAM.nesting, carries=_read(model_carries)),
)
