"""Where a library is wrapped: points that are operations, signals that are listened to, outlets by which results leave.

These are entries of an instrumentor's table. What stands in them as ``module:name`` is loaded once the library is.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Point:
    """One function of a library that is wrapped.

    Attributes:
        module: Where it is defined.
        name: ``Class.method`` or a function's name.
        adapter: How its calls read, as ``module:NAME``; loaded once the library is, never before.
        choose: Picks another adapter by the call, or ``None`` for calls that are no operation, as ``module:function``;
            or ``Within`` for those that a framework makes on behalf of others.
        mode: ``"sync"`` or ``"async"`` for functions; ``"stream"`` or ``"astream"`` for generator functions, whose
            operation starts at the first step.
        overrides: Also wrap the method in every subclass that has its own, present and future.
        outside: With ``overrides``, wrap only methods from outside of this package: its own end in other points.
        wanted: Called with the plans by kind; the point is wrapped only while it says so, as ``module:function``. It
            must not import the library, which may be on its way in.
        optional: Absent in some supported versions.
    """

    module: str
    name: str
    adapter: str
    choose: str = ""
    mode: str = "sync"
    overrides: bool = False
    outside: str = ""
    wanted: str = ""
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A function that is only listened to, or given other arguments.

    Attributes:
        module, name: Which.
        after: Called with ``(instance, args, kwargs, result)`` once it has returned, as ``module:function``.
        before: Called with ``(instance, args, kwargs)``; returns the arguments that it is to be called with.
    """

    module: str
    name: str
    after: str = ""
    before: str = ""
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """A function by which results, or parts of them, leave before their call returns, such as one that tells callbacks.

    Attributes:
        module, name: Which.
        wanted: Called with the plans by kind; whether there are hooks that may decide about what leaves, as
            ``module:function``; without them, and without ``around``, it is not wrapped. It must not import the
            library, which may be on its way in.
        hold: Called with ``(function, args, kwargs)``; true if it is not to be called now, as ``module:function``.
        around: Called with ``(function, args, kwargs)`` in its place, as ``module:function``, whether or not it is
            wanted; but not where its first argument, whom to tell, is empty.
        is_async: It is a coroutine function.
        optional: Absent in some supported versions.
    """

    module: str
    name: str
    wanted: str
    hold: str
    around: str = ""
    is_async: bool = False
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"
