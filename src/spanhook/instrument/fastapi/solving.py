"""Runs a request's gates once its dependencies are solved, and solves the endpoint's own parameters again if a gate has
rewritten it.

The dependencies keep what they returned for the request as it came: authentication runs once, and hooks cannot go
around it.
"""

import json
from collections.abc import Awaitable, Callable
from copy import copy
from email.message import Message
from typing import Any

from fastapi import HTTPException
from starlette.requests import Request

from spanhook.instrument.layers import FASTAPI
from spanhook.instrument.starlette.exchange import KEY, Exchange
from spanhook.instrument.starlette.requests import Requests
from spanhook.instrument.starlette.serving import App, served
from spanhook.model import Args, Kwargs, Opening

REQUESTS = Requests(FASTAPI, HTTPException)
REQUEST = REQUESTS.other
_READ = ("_headers", "_cookies", "_body", "_json")
"""Where a request keeps what it has read."""


def endpoint(opening: Opening, wrapped: Callable[..., App], _instance: Any, args: Args, kwargs: Kwargs) -> App:
    """In place of what makes an application of an endpoint: with an operation that begins in ``solve``."""
    return served(opening, REQUESTS, wrapped, args, kwargs, late=True)


async def solve(
    _opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of what solves all parameters of an endpoint."""
    solved = await wrapped(*args, **kwargs)
    if "dependency_cache" in kwargs:  # the parameters of a dependency, not of the endpoint
        return solved
    request: Any = kwargs.get("request")
    exchange = request.scope.get(KEY) if isinstance(request, Request) else None
    if not isinstance(exchange, Exchange) or exchange.entered or solved.errors:
        return solved
    if not await exchange.enter():
        return solved
    for name in _READ:
        vars(request).pop(name, None)
    request._form, request._stream_consumed = None, False
    own = copy(kwargs["dependant"])
    own.dependencies = []
    given = {**kwargs, "dependant": own, "response": solved.response, "background_tasks": solved.background_tasks}
    if kwargs.get("body") is not None:
        given["body"] = await _parsed(request, kwargs["body"])
    again = await wrapped(*args, **given)
    again.values = {**solved.values, **again.values}
    return again


async def _parsed(request: Any, before: Any) -> Any:
    """The body as FastAPI parses it."""
    if hasattr(before, "multi_items"):
        form = await request.form()
        files = request.scope.get("fastapi_middleware_astack")  # FastAPI closes what it has opened itself
        if files is not None:
            files.push_async_callback(form.close)
        return form
    data = await request.body()
    kind = Message()
    kind["content-type"] = request.headers.get("content-type", "")
    subtype = kind.get_content_subtype()
    if kind.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json")):
        return json.loads(data)
    return data
