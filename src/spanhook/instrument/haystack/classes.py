"""Which classes follow the protocol of chat generators. This is read while the library is being imported."""

import inspect
from collections.abc import Iterator
from typing import Any

from spanhook.identity import ByIdentity
from spanhook.instrument.signatures import Signature

_OTHERS = (
    ("haystack.components.agents.agent", "Agent"),
    ("haystack.components.generators.chat.fallback", "FallbackChatGenerator"),
    ("haystack.core.super_component.super_component", "_SuperComponent"),
)
"""Components that are asked with messages and are no models: agents, and what only passes requests on."""
_PLACED = frozenset((inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD))
_KNOWN = ByIdentity[type, tuple[Signature, ...]]()


def takes_messages(cls: type) -> bool:
    """Whether a class may be one of chat generators: its ``run`` takes ``messages``, or whatever it is given."""
    if any((one.__module__, one.__name__) in _OTHERS for one in cls.__mro__):
        return False
    parameters = _parameters(cls)
    return "messages" in parameters or _has(parameters, inspect.Parameter.VAR_KEYWORD)


def takes_any(cls: type) -> bool:
    """Whether a class's ``run`` takes whatever it is given by position."""
    return _has(_parameters(cls), inspect.Parameter.VAR_POSITIONAL)


def _has(parameters: dict[str, inspect.Parameter], kind: Any) -> bool:
    return any(one.kind is kind for one in parameters.values())


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    run = getattr(cls, "run", None)
    try:
        return dict(inspect.signature(run).parameters) if callable(run) else {}
    except (TypeError, ValueError):
        return {}


def _all_parameters(cls: type) -> Iterator[dict[str, inspect.Parameter]]:
    """The parameters of a class's ``run``, then of those that it overrides."""
    for one in cls.__mro__:
        if "run" in one.__dict__:
            yield _parameters(one)


def signatures_of(cls: type) -> tuple[Signature, ...]:
    """The arguments of each ``run`` of a class that names ``messages``, its own first; ``run_async`` takes the same."""
    found = _KNOWN.get(cls)
    if found is None:
        named = [list(one.values()) for one in _all_parameters(cls) if "messages" in one]
        placed = [[one.name for one in given if one.name != "self" and one.kind in _PLACED] for given in named]
        found = _KNOWN[cls] = tuple(Signature(*places) for places in placed)
    return found


def accepts(cls: type, name: str) -> bool:
    """Whether a generator's ``run``, and what it passes any argument on to, takes an argument of this name."""
    for parameters in _all_parameters(cls):
        if name in parameters:
            return True
        if not _has(parameters, inspect.Parameter.VAR_KEYWORD):
            return False
    return True
