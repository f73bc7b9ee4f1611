"""Methods that are the bodies of calls, wrapped so that gates look at what they receive."""

from collections.abc import Callable
from typing import Any

from spanhook.engine import hear, look_for
from spanhook.instrument._points import Make
from spanhook.instrument._wrapping import Binding, Wrapper, static
from spanhook.model import Receipt, Record, current, shed


def receiving(load: Callable[[], Receipt]) -> Make:
    """The wrapper of a body.

    Args:
        load: Returns how its arguments are read; it imports the library, so it runs only when a call is made.
    """
    receipt: Receipt | None = None

    def make(binding: Binding) -> Callable[..., Any]:
        is_async = binding.sort == "async"

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            nonlocal receipt
            op = current.get()
            try:
                if type(op) is Record and op.shown is not None and op.instance is instance and binding.on:
                    if op.later is None and receipt is not None and receipt.untouched(op.shown, args, kwargs):
                        if op.unheard:
                            hear(op)
                        op.shown = None
                    else:
                        receipt = receipt or load()
                        look = look_for(op, receipt, instance, args, kwargs)
                        if look is not None:
                            return look.amake(wrapped) if is_async else look.make(wrapped)
                elif not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                return wrapped(*args, **kwargs)
            except BaseException as error:
                shed(error)
                raise

        return wrapper

    return make


def is_received(cls: type, attribute: str, base: type) -> bool:
    """Whether a method that instances of ``cls`` have is wrapped so, or is that of ``base``, which calls another."""
    found = static(cls, attribute)
    if issubclass(type(found), Wrapper):
        return bool(found._self_point.on)
    return found is vars(base).get(attribute)
