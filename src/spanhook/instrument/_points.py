"""What the wrappers of a table's entries do: begin an operation, or call a signal."""

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import wrapt

from spanhook.diagnostics import internal, log
from spanhook.engine import acall, acall_for, arrive, call, call_for, goes_on, lazy
from spanhook.errors import UnboundError
from spanhook.instrument._wrapping import Binding
from spanhook.model import Adapter, Found, Lookup, Point, Record, Signal, Within, current, shed

Make = Callable[[Binding], Callable[..., Any]]
"""Creates the wrapper of a function, given its binding."""


def load(path: str) -> Any:
    """What ``module:name`` names; the module may import the library."""
    module, _, name = path.partition(":")
    found = sys.modules.get(module)
    if found is None or getattr(found.__spec__, "_initializing", True):  # as an import statement checks it
        found = importlib.import_module(module)
    return getattr(found, name)


def _mode(point: Point, adapter: Adapter, sort: str) -> str:
    """How a function is driven: judged by the function itself, because subclasses override plain methods with async
    ones.
    """
    return sort if sort == "async" or (sort and adapter.chunks is not None) else point.mode


class Operations:
    """Creates the wrappers of a point that is an operation.

    The point's description may import more of its library, which may be only partly imported at this time: it is read
    at once if possible, otherwise when the library is imported, or at the first call.

    Args:
        missing: Called if it cannot be read then either.
    """

    def __init__(self, point: Point, missing: Callable[[], None]) -> None:
        self._point, self._missing = point, missing
        self._make: Make | None = None
        with suppress(ImportError, AttributeError):
            self._make = _operation(point)

    def settle(self) -> Make | None:
        """Read the description if not read yet; if that fails, log it and return ``None``."""
        if self._make is None:
            try:
                self._make = _operation(self._point)
            except Exception as error:
                log.error(
                    "spanhook: cannot bind %s; calls that go through it are not gated", self._point, exc_info=error
                )
                self._missing()
        return self._make

    def __call__(self, binding: Binding) -> Callable[..., Any]:
        if self._make is not None:
            return self._make(binding)
        made: Callable[..., Any] | None = None

        def first(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            nonlocal made
            if made is None:
                make = self.settle()
                made = _pass if make is None else make(binding)
            return made(wrapped, instance, args, kwargs)

        return first


def _pass(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def _operation(point: Point) -> Make:
    given = load(point.adapter)
    choose = load(point.choose) if point.choose else None

    def chosen(instance: Any, args: Any, kwargs: Any) -> Adapter | Within | None:
        try:
            return choose(instance, args, kwargs) if choose is not None else given
        except Exception as error:
            internal.report("extract.shape", error)
            return given  # an unrecognized call is still gated

    def make(binding: Binding) -> Callable[..., Any]:
        mode = _mode(point, given, binding.sort)

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                if not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                adapter = given if choose is None else chosen(instance, args, kwargs)
                if adapter is None:
                    return wrapped(*args, **kwargs)
                if isinstance(adapter, Within):
                    return (call_for if mode == "sync" else acall_for)(adapter.held, wrapped, args, kwargs)
                held = current.get()
                if (
                    type(held) is Record
                    and held.instance is instance
                    and binding.is_super_call(held, adapter)
                    and goes_on(held, args, kwargs)
                ):
                    return wrapped(*args, **kwargs)
                if mode == "sync":
                    return call(adapter, wrapped, instance, args, kwargs)
                if mode == "async":
                    make = acall if adapter.arrival is None else arrive
                    return make(adapter, wrapped, instance, args, kwargs)
                return lazy(adapter, wrapped, instance, args, kwargs, is_async=mode == "astream")
            except BaseException as error:
                shed(error)
                raise

        return wrapper

    return make


def looked_up(lookup: Lookup) -> Make:
    """The wrapper of a function that looks up what it calls.

    It is called on a stand-in for its instance, whose table has the gated function: nothing is left behind in the
    table, and nothing goes around the gate, since whatever is in the table is gated as it is found.
    """
    find = partial(load, lookup.find)
    stand_in = type("StandIn", (wrapt.ObjectProxy,), {lookup.table: property(lambda self: self._self_table)})

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            if type(instance) is stand_in:  # an overridden method, called by the overriding one
                return wrapped(*args, **kwargs)
            found: Found | None = find()(instance, args, kwargs)
            table = getattr(instance, lookup.table)
            function = table.get(found.key) if found is not None else None
            if found is None or function is None:
                return wrapped(*args, **kwargs)
            here: Any = stand_in(instance)
            here._self_table = {**table, found.key: _gated(found, function)}
            return wrapped.__func__(here, *args, **kwargs)

        return wrapper

    return make


def _gated(found: Found, function: Callable[..., Any]) -> Callable[..., Any]:
    make = acall if found.adapter.arrival is None else arrive

    async def gated(*args: Any, **kwargs: Any) -> Any:
        return await make(found.adapter, function, found.instance, args, kwargs)

    return gated


def told(signal: Signal) -> Make:
    """The wrapper of a function that is no operation."""
    before = load(signal.before) if signal.before else None
    after = load(signal.after) if signal.after else None

    def make(binding: Binding) -> Callable[..., Any]:
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
