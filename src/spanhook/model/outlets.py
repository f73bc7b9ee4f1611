"""Functions through which results, or parts of them, leave before their call returns, as tables name them."""

from dataclasses import dataclass

from spanhook.model.table_entry import TableEntry


@dataclass(frozen=True, kw_only=True)
class InnerStream(TableEntry):
    """A generator function of subclasses, from whose chunks a call sends parts to others before it returns them.

    Attributes:
        module, name: The method of the base class, as in ``Point``; it is wrapped in subclasses that override it.
        outside: Only methods defined outside these packages are wrapped.
        wanted: Called with the plans by kind; returns whether hooks want to see text before it goes out, as
            ``module:function``. It must not import the library, whose import may be in progress.
        texts: How its chunks are read, as ``module:NAME``.
        sends, place: The argument that, if it is given, sends parts to others from inside of the method: such a call
            is left alone. Its name, and its place among the method's arguments.
        is_async: It is an async generator function.
    """

    outside: tuple[str, ...]
    wanted: str
    texts: str
    sends: str
    place: int
    is_async: bool = False


@dataclass(frozen=True, kw_only=True)
class Outlet(TableEntry):
    """A function through which results, or parts of them, leave before their call returns, such as one that notifies
    callbacks.

    Attributes:
        module, name: The function, as in ``Point``.
        wanted: Called with the plans by kind; returns whether any hook may decide about what leaves, as
            ``module:function``. If none may, and without ``around``, it is not wrapped. It must not import the
            library, whose import may be in progress.
        hold: Called with ``(function, args, kwargs)``; returns true to hold the call back, as ``module:function``.
        around: Called with ``(function, args, kwargs)`` in its place, as ``module:function``, whether wanted or not;
            but not if its first argument, the callbacks, is empty: the function then does nothing, and is not called.
        is_async: It is a coroutine function.
        overrides: It is the method of subclasses that override it, present and future.
    """

    wanted: str
    hold: str
    around: str = ""
    is_async: bool = False
    overrides: bool = False
