"""The arguments of LiteLLM's functions: OpenAI's JSON as keywords, among others, and the first few by position."""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from spanhook.instrument.wire import Fields, is_model, plain
from spanhook.model import Args, Kwargs

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@cache
def names_of(place: str) -> tuple[str, ...]:
    """The parameters that a function takes by position, in their order.

    Args:
        place: The function, as ``module:name``.
    """
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return tuple(one.name for one in inspect.signature(function).parameters.values() if one.kind in _POSITIONAL)


def given(names: tuple[str, ...], args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """All arguments that were passed, by name; messages as plain data."""
    body = {name: value for name, value in kwargs.items() if value is not None}
    body |= {name: value for name, value in zip(names, args, strict=False) if value is not None}
    for name in ("messages", "input"):
        messages = body.get(name)
        if isinstance(messages, list) and any(map(is_model, messages)):  # the application may pass answers on
            body[name] = [_message(one) if is_model(one) else one for one in messages]
    return body


def _message(model: Any) -> Any:
    return {name: value for name, value in plain(model).items() if value is not None}


def having(names: tuple[str, ...], args: Args, kwargs: Kwargs, changes: Fields) -> tuple[Args, Kwargs]:
    """The arguments with some of them replaced."""
    by_place, by_name = list(args), dict(kwargs)
    for name, value in changes.items():
        place = names.index(name) if name in names else len(by_place)
        if place < len(by_place):
            by_place[place] = value
        else:
            by_name[name] = value
    return tuple(by_place), by_name
