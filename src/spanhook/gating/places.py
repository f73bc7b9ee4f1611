"""Where hooks were registered, for messages about them."""

import inspect
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from spanhook import errors
from spanhook.errors import ConfigurationError
from spanhook.gating.hook import FunctionHook, Hook

OURS = os.path.dirname(os.path.abspath(errors.__file__)) + os.sep
"""The folder of the package."""


_given: ContextVar[str] = ContextVar("spanhook_place", default="")


@contextmanager
def placed_at(given: str) -> Generator[None]:
    """Register hooks in this block at a place that is not a line of Python, such as a line of a file."""
    token = _given.set(given)
    try:
        yield
    finally:
        _given.reset(token)


def place() -> str:
    """Where spanhook was called from; empty if it cannot be known."""
    given = _given.get()
    if given:
        return given
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}" if frame is not None else ""


def where(hook: Any, registered: str) -> str:
    """Where a hook was registered and, for a class, where it is defined."""
    cls = hook if isinstance(hook, type) else type(hook)
    if not issubclass(cls, Hook) or issubclass(cls, FunctionHook):
        return registered
    try:
        file, line = inspect.getsourcefile(cls), inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):  # defined at an interpreter's prompt, or by `type()`
        return registered
    return f"{file}, line {line}; added at {registered}" if registered else f"{file}, line {line}"


class Placed:
    """Adds its place to a mistake.

    Args:
        hook: What is registered, if it may be a ``Hook``.
    """

    __slots__ = ("_hook",)

    def __init__(self, hook: Any = None) -> None:
        self._hook = hook

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ConfigurationError) and not error.place:
            error.place = where(self._hook, place())
            if error.place:
                error.args = (f"{error} ({error.place})",)
