"""The arguments of a call of a chat generator, wherever they stand: each class has its own signature."""

from collections.abc import Collection
from typing import Any, cast

from haystack.dataclasses import ChatMessage

from spanhook.instrument.haystack.classes import signatures_of, takes_any
from spanhook.instrument.signatures import Signature
from spanhook.model import Args, Kwargs

_BY_NAME = Signature()
_FIRST = Signature("messages")


def outputs_of(instance: Any) -> Collection[str]:
    """The names of what a component says that it gives; none if it does not say, or is no component."""
    outputs = getattr(instance, "__haystack_output__", None)
    return () if outputs is None else outputs._sockets_dict


def signature_of(instance: Any, args: Args) -> Signature:
    """The signature that the arguments of a call fit.

    It is not always that of the instance's class: that may take whatever it is given and pass it on, and what it
    overrides may be called with the same instance and other arguments.
    """
    cls = type(instance)
    known = signatures_of(cls)
    if not args:
        return known[0] if known else _BY_NAME
    asked = [one.given(args, {}, "messages") for one in known]
    for fits in (_asks, _is_given):
        for one, value in zip(known, asked, strict=True):
            if fits(value):
                return one
    places = [place for place, value in enumerate(args) if _are_messages(value)]
    if places:
        return Signature(*("" for _ in range(places[0])), "messages")
    if known:
        return known[0]
    return _FIRST if takes_any(cls) and "replies" in outputs_of(instance) else _BY_NAME


def given(instance: Any, args: Args, kwargs: Kwargs, name: str) -> Any:
    """One argument of a call; ``None`` if it was not passed."""
    return signature_of(instance, args).given(args, kwargs, name)


def having(instance: Any, args: Args, kwargs: Kwargs, name: str, value: Any) -> tuple[Args, Kwargs]:
    """The arguments of a call with one of them replaced."""
    return signature_of(instance, args).having(args, kwargs, **{name: value})


def _asks(value: Any) -> bool:
    """Whether a value may be what a generator is asked with."""
    return isinstance(value, str) or _are_messages(value)


def _is_given(value: Any) -> bool:
    return value is not None


def _are_messages(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(one, ChatMessage) for one in cast("list[Any] | tuple[Any, ...]", value)
    )
