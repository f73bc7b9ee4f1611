"""Wrappers of functions that are no operations: what a library does there is told to others."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from spanhook.diagnostics import internal
from spanhook.errors import UnboundError
from spanhook.instrument._points import Make, load
from spanhook.instrument._wrapping import Binding
from spanhook.model import Args, Kwargs, Signal, shed


def told(signal: Signal) -> Make:
    """The wrapper of a function that is no operation."""
    before, after = _on_demand(signal.before), _on_demand(signal.after)

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if before is not None and binding.on:
                args, kwargs = _changed(before, instance, args, kwargs)
            try:
                result = wrapped(*args, **kwargs)
                if after is not None and binding.on:
                    _notify(after, instance, args, kwargs, result)
            except BaseException as error:
                shed(error)
                raise
            return result

        def awaits(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if before is not None and binding.on:
                args, kwargs = _changed(before, instance, args, kwargs)
            try:
                coroutine = wrapped(*args, **kwargs)
            except BaseException as error:
                shed(error)
                raise
            return coroutine if after is None or not binding.on else awaited(coroutine, instance, args, kwargs)

        async def awaited(coroutine: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                result = await coroutine
                if after is not None and binding.on:
                    _notify(after, instance, args, kwargs, result)
            except BaseException as error:
                shed(error)
                raise
            return result

        return awaits if binding.sort == "async" else wrapper

    return make


def _changed(before: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a call as ``before`` returns them; its own if that fails."""
    try:
        made_args, made_kwargs = before(instance, args, kwargs)
    except Exception as error:
        internal.report("signal", error)
        return args, kwargs
    return made_args, made_kwargs


def _notify(after: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs, result: Any) -> None:
    """Notify ``after`` of a call that has returned.

    Raises:
        UnboundError: It cannot bind what the call has made.
    """
    try:
        after(instance, args, kwargs, result)
    except UnboundError:
        raise
    except Exception as error:
        internal.report("signal", error)


def _on_demand(path: str) -> Callable[..., Any] | None:
    """What ``path`` names, or nothing for an empty one; loaded at the first call if its library is being imported."""
    if not path:
        return None
    with suppress(ImportError, AttributeError):
        return load(path)

    def later(*given: Any) -> Any:
        return load(path)(*given)

    return later
