"""Wrappers of functions that are no operations: what a library does there is told to others."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from spanhook.diagnostics import internal
from spanhook.errors import UnboundError
from spanhook.instrument._points import Make, load
from spanhook.instrument._wrapping import Binding
from spanhook.model import Signal, shed


def told(signal: Signal) -> Make:
    """The wrapper of a function that is no operation."""
    before, after = _on_demand(signal.before), _on_demand(signal.after)

    def make(binding: Binding) -> Callable[..., Any]:
        is_async = binding.sort == "async"

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if before is not None and binding.on:
                try:
                    args, kwargs = before(instance, args, kwargs)
                except Exception as error:
                    internal.report("signal", error)
            try:
                result = wrapped(*args, **kwargs)
            except BaseException as error:
                shed(error)
                raise
            if after is None or not binding.on:
                return result
            if is_async:
                return returned_later(result, instance, args, kwargs)
            try:
                after(instance, args, kwargs, result)
            except UnboundError:
                raise
            except Exception as error:
                internal.report("signal", error)
            return result

        async def returned_later(coroutine: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                result = await coroutine
            except BaseException as error:
                shed(error)
                raise
            if after is not None and binding.on:
                try:
                    after(instance, args, kwargs, result)
                except UnboundError:
                    raise
                except Exception as error:
                    internal.report("signal", error)
            return result

        return wrapper

    return make


def _on_demand(path: str) -> Callable[..., Any] | None:
    """What ``path`` names, or nothing for an empty one; loaded at the first call if its library is being imported."""
    if not path:
        return None
    with suppress(ImportError, AttributeError):
        return load(path)

    def later(*given: Any) -> Any:
        return load(path)(*given)

    return later
