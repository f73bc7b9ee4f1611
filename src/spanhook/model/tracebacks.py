"""Removes spanhook's own frames from the tracebacks of errors that pass through it.

They say nothing about the application's error, and would appear twice for every enclosing call. Errors that spanhook
itself raises keep them.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from spanhook.errors import SpanhookError

P = ParamSpec("P")
T = TypeVar("T")


_APPLICATIONS = ("spanhook.cli.conformance", "spanhook.cli.demo", "spanhook.cli.load")
"""Packages of spanhook that call libraries as applications do."""


class Frames:
    """Attributes:
    stay: Errors are passed on unchanged; ``Settings(full_tracebacks=True)``.
    """

    stay = False


frames = Frames()


def shed(error: BaseException) -> None:
    """Take spanhook's own frames off the outer end of an error's traceback.

    For an ``except`` clause that then uses a bare ``raise``, which adds no frame.
    """
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not name.startswith("spanhook.") or name.startswith(_APPLICATIONS):
            break
        trace = trace.tb_next
    if not frames.stay and (trace is not None or isinstance(error, SpanhookError)):
        BaseException.with_traceback(error, trace)  # assigning it fails for frozen dataclasses


def sheds(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that the application calls, where the cost of an extra call does not matter."""

    @wraps(method)
    def outermost(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            shed(error)
            raise

    return outermost


def asheds(method: Callable[P, Awaitable[T]]) -> "Callable[P, CoroutineType[Any, Any, T]]":
    """``sheds`` for coroutine functions."""

    @wraps(method)
    async def outermost(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except BaseException as error:
            shed(error)
            raise

    return outermost
