"""Where a library is wrapped: points become operations, signals are listened to, outlets let results out.

These are entries of an instrumentor's table. References of the form ``module:name`` are loaded once the library is.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from spanhook.model.adapter import Adapter
from spanhook.model.admission import Runs
from spanhook.model.arguments import Args
from spanhook.model.table_entry import TableEntry

MODES = ("sync", "async", "stream", "astream", "manager", "amanager", "acontext")
"""How the functions of points make their calls."""


@dataclass(frozen=True, kw_only=True)
class Point(TableEntry):
    """One function of a library that is wrapped.

    Attributes:
        module: The module that defines it.
        name: ``Class.method`` or a function's name.
        adapter: The adapter of its calls, as ``module:NAME``; never loaded before the library.
        choose: Picks another adapter by the call, as ``module:function``; returns ``None`` for calls that are no
            operation, ``Within`` for calls that a framework makes on behalf of other code, or ``Turn`` for calls that
            are turns of one operation.
        mode: ``"sync"`` or ``"async"`` for functions; ``"stream"`` or ``"astream"`` for generator functions, whose
            operation starts at the first step; ``"manager"`` or ``"amanager"`` for functions that return a context
            manager whose result is the operation's, and ``"acontext"`` for an async one whose block is the operation.
        overrides: Also wrap the method in every subclass that overrides it, present and future.
        outside: With ``overrides``, wrap only methods defined outside these packages: theirs lead to other points.
        wanted: Called with the plans by kind; the point is wrapped only while it returns true, as ``module:function``.
            It must not import the library, whose import may be in progress.
        below: With ``overrides``: the class itself may lack the method, which only subclasses have.
        decorator: A package whose own decorators, made with wrapt, may stand around the method: references that were
            taken to what they made are gated, too, inside of them.
        arrival: For a coroutine function that serves requests: reads where a call's request comes from, as
            ``module:function`` that returns an ``Arrival``.
        either: What the function is, if it is in different places in different versions: of the points that share this,
            one must be there.
    """

    adapter: str
    choose: str = ""
    mode: str = "sync"
    overrides: bool = False
    below: bool = False
    outside: tuple[str, ...] = ()
    wanted: str = ""
    decorator: str = ""
    arrival: str = ""
    either: str = ""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            expected = ", ".join(MODES)
            raise ValueError(f"the point {self.name} has the unknown mode {self.mode!r}; expected one of {expected}")


@dataclass(frozen=True, kw_only=True)
class MetaPoint(Point):
    """A method of all classes of a metaclass, present and future: for libraries whose classes share a protocol, but no
    base class.

    Attributes:
        name: ``Metaclass.method``.
        picks: Called with a class that has the method; returns whether it is wrapped there, as ``module:function``.
            It is also asked about the classes of what such instances hold, which may follow the protocol without the
            metaclass. It must not import the library, whose import may be in progress.
    """

    picks: str


@dataclass(frozen=True, kw_only=True)
class Block(TableEntry):
    """A function inside of whose call an operation opens and ends, where its library says so: for calls whose results
    leave otherwise than as what they return, or whose hooks need what is known only in the middle of them.

    Attributes:
        module, name: The function, as in ``Point``.
        adapter: How the operations are read, as in ``Point``.
        drive: Called in place of the function with ``(opening, wrapped, instance, args, kwargs)``, as
            ``module:function``; ``opening`` opens the operations, see ``Opening``.
        wanted: As in ``Point``; always unless given.
    """

    adapter: str
    drive: str
    wanted: str = ""


class Opened(Protocol):
    """An async context manager whose block is an operation. Entering gives what its call gives, or what a hook has
    answered; leaving ends it.

    Attributes:
        entered: Whether the block has begun: no hook has refused the operation or answered.
        result: What hooks have made of the result, once it is left.
    """

    @property
    def entered(self) -> bool: ...

    @property
    def result(self) -> Any: ...

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *given: object) -> bool | None: ...


class Opening(Protocol):
    """How the driver of a ``Block`` opens operations.

    Attributes:
        runs: For those that are decided about in one place and executed in another.
        hooked: Whether hooks apply to operations of their kind.
    """

    @property
    def runs(self) -> Runs: ...

    @property
    def hooked(self) -> bool: ...

    def reads_body(self, name: str) -> bool:
        """Whether a hook asks for the bodies of requests with this name."""
        ...

    def __call__(
        self, adapter: Adapter, call: Callable[..., AbstractAsyncContextManager[Any]], instance: Any, args: Args
    ) -> Opened:
        """The operation of a call that returns a context manager, whose value is the result when it is left."""
        ...


@dataclass(frozen=True, kw_only=True)
class Lookup(TableEntry):
    """A coroutine function that looks up another one in a table of its instance, and awaits it: the operation is that
    call, whoever put the function there.

    Attributes:
        module, name: The function, as in ``Point``; it is also wrapped in subclasses.
        table: The attribute of the instance that holds the table, a dict.
        find: Called with ``(instance, args, kwargs)``; returns which entry is about to be called, as ``Found``, or
            ``None`` if its call is no operation, as ``module:function``.
        arrival: As in ``Point``.
    """

    table: str
    find: str
    arrival: str = ""


class Found(NamedTuple):
    """An entry of a table whose call is an operation.

    Attributes:
        key: Its key.
        adapter: How its calls are read.
        instance: What the adapter gets as the instance of the call.
    """

    key: Any
    adapter: Adapter
    instance: Any


@dataclass(frozen=True, kw_only=True)
class Held(TableEntry):
    """A function that the instances of a class hold in an attribute, such as that of a tool. Each call is an operation.

    The class keeps its attributes in a ``__dict__``.

    Attributes:
        module: The module that defines the class.
        name: ``Class.attribute``.
        adapter: The adapter of the calls, as in ``Point``; its instance is the one that holds the function.
        choose: As in ``Point``.
        methods: Names of the methods that are operations, if the attribute holds an object with methods.
        awaited: Whether those who call a plain function on an event loop await its result.
    """

    adapter: str
    choose: str = ""
    methods: tuple[str, ...] = ()
    awaited: bool = True


@dataclass(frozen=True, kw_only=True)
class Signal(TableEntry):
    """A function that is only listened to, or called with changed arguments.

    Attributes:
        module, name: The function, as in ``Point``.
        after: Called with ``(instance, args, kwargs, result)`` once it has returned, as ``module:function``; for a
            coroutine function, once that has.
        before: Called with ``(instance, args, kwargs)``; returns the arguments for the call.
    """

    after: str = ""
    before: str = ""


@dataclass(frozen=True, kw_only=True)
class Attempts(TableEntry):
    """A function that makes calls until one succeeds, such as one that retries, or falls back to other models. It is no
    operation, but each of its attempts may be one: if that is refused, no other attempt takes its place.

    Attributes:
        module, name: The function, as in ``Point``.
        layer: The layer of the operations that are its attempts.
    """

    layer: str
