"""Methods that are the bodies of calls, wrapped so that gates look at what they receive."""

from collections.abc import Callable
from functools import partial
from typing import Any

from spanhook.engine import hear, look_for
from spanhook.gating import Registry
from spanhook.instrument._points import Make
from spanhook.instrument._wrapping import Binding, Wrapper, static
from spanhook.model import Receipt, Record, current, shed


def receiving(
    load: Callable[[], Receipt], around: Callable[[], Callable[..., Any]] | None = None, *, returns: bool = False
) -> Make:
    """The wrapper of a body, or of a method that calls one.

    Args:
        load: Returns how its arguments are read; it imports the library, so it runs only when a call is made.
        around: Returns what is called in place of the method; see ``Receiver``.
        returns: What the method returns is what the body receives.
    """
    receipt: Receipt | None = None

    def receive(body: Any, instance: Any, args: Any, kwargs: Any, *, is_async: bool) -> Any:
        nonlocal receipt
        op = current.get()
        if type(op) is Record and (looking := op.looking).shown is not None:
            receipt = receipt or load()
            if receipt.belongs(op.instance, instance):
                if looking.later is None and receipt.untouched(instance, looking.shown, args, kwargs):
                    if looking.unheard:
                        hear(op)
                    looking.shown = None
                elif (look := look_for(op, receipt, instance, args, kwargs)) is not None:
                    return look.amake(body) if is_async else look.make(body)
        return body(*args, **kwargs)

    def make(binding: Binding) -> Callable[..., Any]:
        is_async = binding.sort == "async"

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                if not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                if around is not None:
                    return around()(partial(receive, is_async=True), wrapped, instance, args, kwargs)
                if returns:
                    return receive(as_it_is, instance, (wrapped(*args, **kwargs),), {}, is_async=False)
                return receive(wrapped, instance, args, kwargs, is_async=is_async)
            except BaseException as error:
                shed(error)
                raise

        def body(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            op = current.get()
            try:
                if (
                    type(op) is Record
                    and op.instance is instance
                    and (looking := op.looking).shown is not None
                    and looking.later is None
                    and not looking.unheard
                    and receipt is not None
                    and receipt.untouched(instance, looking.shown, args, kwargs)
                ):
                    op.__dict__.pop("looking", None)  # as in `receive`, for most calls: nothing is left to look for
                    return wrapped(*args, **kwargs)
                return wrapper(wrapped, instance, args, kwargs)
            except BaseException as error:
                shed(error)
                raise

        return wrapper if around is not None or returns else body

    return make


def as_it_is(result: Any) -> Any:
    return result


def tools(hooks: Registry) -> bool:
    """Whether there are hooks for tools, which look at what their bodies receive."""
    return "tool.execute" in hooks.outer or "tool.execute" in hooks.plans


def is_received(cls: type, attribute: str, base: type | None = None) -> bool:
    """Whether a method that instances of ``cls`` have is wrapped so, or is that of ``base``, which calls another."""
    found = static(cls, attribute)
    if issubclass(type(found), Wrapper):
        return bool(found._self_point.on)
    return base is not None and found is vars(base).get(attribute)


def is_of(cls: type, attribute: str, base: type) -> bool:
    """Whether a method of ``cls`` is that of ``base``."""
    return next((one for one in cls.__mro__ if attribute in one.__dict__), None) is base


def has_own(instance: Any, *attributes: str) -> bool:
    """Whether an object has something of its own in place of a method of its class, as after a patch."""
    own = getattr(instance, "__dict__", None)
    return bool(own) and not own.keys().isdisjoint(attributes)
