"""Frames of spanhook's own in the tracebacks of errors that pass through it.

They say nothing about the application's error, and stand twice in each traceback for every call around it. So whatever
passes through is handed on without them. Where an error was raised by spanhook itself they stay.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from spanhook.errors import SpanhookError

P = ParamSpec("P")
T = TypeVar("T")


_APPLICATIONS = ("spanhook.cli.conformance", "spanhook.cli.demo", "spanhook.cli.load")
"""What comes with spanhook and calls libraries as applications do."""


class Frames:
    """Attributes:
    stay: Errors are handed on as they are; ``Settings(full_tracebacks=True)``.
    """

    stay = False


frames = Frames()


def shed(error: BaseException) -> None:
    """Take spanhook's own frames off the outer end of an error's traceback.

    For an ``except`` clause that then says plain ``raise``, which adds none.
    """
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not name.startswith("spanhook.") or name.startswith(_APPLICATIONS):
            break
        trace = trace.tb_next
    if not frames.stay and (trace is not None or isinstance(error, SpanhookError)):
        error.__traceback__ = trace


def sheds(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate what the application calls, where a call more does not matter."""

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
