"""What all proxies of streams have in common: they are as the wrapped objects, and end the operation when dropped."""

from collections.abc import Callable
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

import wrapt

from spanhook.copies import Copied
from spanhook.engine._streams import Track

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # wrapt 1 is not generic


class Nothing:
    """The track of an object without a stream."""

    hand = int


NOTHING = Nothing()


class Transparent(Copied, ObjectProxy):
    """A proxy whose copies are those of the wrapped object."""


class Tracked(Transparent):
    """Something that belongs to a stream, and the stream's track."""

    _self_track: Any = NOTHING  # for a half-initialized proxy

    def __init__(self, wrapped: Any, track: Track) -> None:
        super().__init__(wrapped)
        self._self_track = track


class Proxy(Tracked):
    """What a consumer holds; if dropped unfinished, it ends the operation."""

    _self_owned: Any = NOTHING
    __del__: Any = property(attrgetter("_self_owned.hand"))  # no Python function, which may be interrupted

    def __init__(self, wrapped: Any, track: Track) -> None:
        super().__init__(wrapped, track)
        self._self_owned = track


class _Like:
    """A method that a proxy has only if what it wraps has such a method.

    Args:
        method: The proxy's.
        names: Those of what it wraps, any of which will do.
    """

    def __init__(self, method: Callable[..., Any], names: tuple[str, ...]) -> None:
        self._method, self._names = method, names

    def __get__(self, proxy: Any, _owner: Any = None) -> Any:
        if proxy is None:
            return self._method
        if not any(hasattr(proxy.__wrapped__, name) for name in self._names):
            raise AttributeError(self._names[0])  # the wrapped object then raises its own
        return MethodType(self._method, proxy)


def as_wrapped(*names: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that not every wrapped object has: applications ask whether it is there."""
    return lambda method: _Like(method, names)
