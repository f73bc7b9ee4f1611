"""What the wrappers of a table's entries do: begin an operation, look up a function, or make attempts."""

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import wrapt

from spanhook.copies import Copied
from spanhook.diagnostics import internal, log
from spanhook.engine import (
    AsyncManaged,
    Managed,
    OperationContext,
    aattempt,
    acall,
    acall_for,
    acall_turn,
    arrive,
    attempt,
    call,
    call_for,
    handed_out,
    lazy,
)
from spanhook.instrument._holding import Driver, HeldBinding
from spanhook.instrument._wrapping import Binding
from spanhook.model import (
    Adapter,
    Attempts,
    Found,
    Held,
    Lookup,
    Point,
    Record,
    Turn,
    Within,
    current,
    goes_on,
    shed,
)

Make = Callable[[Binding], Callable[..., Any]]
"""Creates the wrapper of a function, given its binding."""
_DRIVERS: dict[str, Callable[..., Any]] = {
    "sync": call,
    "stream": partial(lazy, is_async=False),
    "astream": partial(lazy, is_async=True),
    "manager": Managed,
    "amanager": AsyncManaged,
    "acontext": OperationContext,
}
"""What makes a call as an operation, or returns what does, by the point's mode."""


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
    reads_chunks = adapter.streaming is not None and adapter.streaming.chunks is not None
    return sort if sort == "async" or (sort and reads_chunks) else point.mode


class Operations:
    """Creates the wrappers of a point that is an operation.

    The point's description may import more of its library, which may be only partly imported at this time: it is read
    at once if possible, otherwise when the library is imported, or at the first call.

    Args:
        missing: Called if it cannot be read then either.

    Attributes:
        decorator: The package whose decorators may stand around the function.
    """

    def __init__(self, point: Point | Held, missing: Callable[[], None]) -> None:
        self._point, self._missing = point, missing
        self.decorator = point.decorator if isinstance(point, Point) else ""
        self._make: Any = None
        with suppress(ImportError, AttributeError):
            self._make = _read(point)

    def settle(self) -> Any:
        """Read the description if not read yet; if that fails, log it and return ``None``."""
        if self._make is None:
            try:
                self._make = _read(self._point)
            except Exception as error:
                log.error(
                    "spanhook: cannot bind %s; calls that go through it are not gated", self._point, exc_info=error
                )
                self._missing()
        return self._make

    def __call__(self, binding: Any) -> Callable[..., Any]:
        if self._make is not None:
            return self._make(binding)
        made: list[Callable[..., Any]] = []

        def first(wrapped: Any, instance: Any, args: Any, kwargs: Any, *awaits: bool) -> Any:
            if not made:
                make = self.settle()
                made.append(_pass if make is None else make(binding))
            try:
                return made[0](wrapped, instance, args, kwargs, *awaits)
            except BaseException as error:
                shed(error)
                raise

        return first


def _pass(wrapped: Any, _instance: Any, args: Any, kwargs: Any, *_awaits: bool) -> Any:
    return wrapped(*args, **kwargs)


def _read(point: Point | Held) -> Any:
    return _held(point) if isinstance(point, Held) else _operation(point)


def _chooser(point: Point | Held, given: Adapter) -> Callable[[Any, Any, Any], Any]:
    """Picks the adapter of a call; ``None`` if it is no operation."""
    choose = load(point.choose)

    def chosen(instance: Any, args: Any, kwargs: Any) -> Adapter | Turn | Within | None:
        try:
            return choose(instance, args, kwargs)
        except Exception as error:
            internal.report("extract.shape", error)
            return given  # an unrecognized call is still gated

    return chosen


def _held(point: Held) -> Callable[[HeldBinding], Driver]:
    given = load(point.adapter)
    choose = _chooser(point, given) if point.choose else None

    def make(binding: HeldBinding) -> Driver:
        binding.methods, binding.awaited = point.methods, point.awaited

        def drive(function: Any, instance: Any, args: Any, kwargs: Any, awaits: bool) -> Any:
            adapter = given if choose is None else choose(instance, args, kwargs)
            if adapter is None or not binding.on:
                return function(*args, **kwargs)
            return (acall if awaits else call)(adapter, function, instance, args, kwargs)

        return drive

    return make


def _operation(point: Point) -> Make:
    given = load(point.adapter)
    choose = _chooser(point, given) if point.choose else None
    serving = _serving(point)

    def make(binding: Binding) -> Callable[..., Any]:
        mode = _mode(point, given, binding.sort)
        usual = serving or _driver(mode, given)

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                if not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                adapter, drive = given, usual
                if choose is not None and (adapter := choose(instance, args, kwargs)) is not given:
                    if adapter is None:
                        return wrapped(*args, **kwargs)
                    if isinstance(adapter, Within):
                        return (call_for if mode == "sync" else acall_for)(adapter.held, wrapped, args, kwargs)
                    if isinstance(adapter, Turn):
                        return acall_turn(adapter, wrapped, args, kwargs)
                    drive = serving or _driver(mode, adapter)
                held = current.get()
                if (
                    type(held) is Record
                    and held.instance is instance
                    and binding.is_super_call(held, adapter)
                    and goes_on(held, args, kwargs)
                ):
                    return wrapped(*args, **kwargs)
                return drive(adapter, wrapped, instance, args, kwargs)
            except BaseException as error:
                shed(error)
                raise

        return wrapper

    return make


def _driver(mode: str, adapter: Adapter) -> Callable[..., Any]:
    """What makes a call as an operation, by the point's mode."""
    if mode == "async":
        return acall if adapter.streaming is None or adapter.streaming.hands_out is None else handed_out
    return _DRIVERS[mode]


def _serving(entry: Point | Lookup) -> Callable[..., Any] | None:
    """What makes a call that serves a request as an operation; ``None`` if the entry's calls serve none."""
    return partial(arrive, load(entry.arrival)) if entry.arrival else None


def looked_up(lookup: Lookup) -> Make:
    """The wrapper of a function that looks up what it calls.

    It is called on a stand-in for its instance, whose table has the gated function: nothing is left behind in the
    table, and nothing goes around the gate, since whatever is in the table is gated as it is found.
    """
    find = partial(load, lookup.find)
    drive: Callable[..., Any] | None = None
    stand_in = type("StandIn", (Copied, wrapt.ObjectProxy), {lookup.table: property(lambda self: self._self_table)})

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
            nonlocal drive
            drive = drive or _serving(lookup) or acall
            here: Any = stand_in(instance)
            here._self_table = {**table, found.key: _gated(drive, found, function)}
            return wrapped.__func__(here, *args, **kwargs)

        return wrapper

    return make


def _gated(drive: Callable[..., Any], found: Found, function: Callable[..., Any]) -> Callable[..., Any]:
    async def gated(*args: Any, **kwargs: Any) -> Any:
        return await drive(found.adapter, function, found.instance, args, kwargs)

    return gated


def attempting(attempts: Attempts) -> Make:
    """The wrapper of a function that makes attempts."""

    def make(binding: Binding) -> Callable[..., Any]:
        drive = aattempt if binding.sort == "async" else attempt

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if not binding.on:
                return binding.beyond(wrapped, instance)(*args, **kwargs)
            return drive(attempts.layer, wrapped, args, kwargs)

        return wrapper

    return make
