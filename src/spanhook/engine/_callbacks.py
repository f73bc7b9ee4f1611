"""The application's callbacks, as a framework runs them: what they call is never the transport of its operation."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from spanhook.model import Args, EndDetails, Kwargs, Record, current, shed

calling_back: ContextVar[Record | None] = ContextVar("spanhook.calling_back", default=None)
"""The operation whose framework is running callbacks."""


def called_back(wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Run a framework function that calls the application's callbacks: the handlers in its first argument."""
    op = current.get() if args and args[0] else None
    if type(op) is not Record:
        return wrapped(*args, **kwargs)
    before = calling_back.get()
    try:
        calling_back.set(op)
        return wrapped(*args, **kwargs)
    except BaseException as error:
        _note(op, error)
        raise
    finally:
        calling_back.set(before)


def acalled_back(wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Awaitable[Any]:
    """``called_back`` for a coroutine function."""
    op = current.get() if args and args[0] else None
    if type(op) is not Record:
        return wrapped(*args, **kwargs)
    return _awaited(op, wrapped, args, kwargs)


def _note(op: Record, error: BaseException) -> None:
    """What a callback raises about an answer that took the call's place is meant for the caller."""
    if op.decided.answered and isinstance(error, Exception):
        op.part(EndDetails).listener_error = error


async def _awaited(op: Record, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    before = calling_back.get()
    try:
        calling_back.set(op)
        # Called only now: if cancelled before its first step, no unawaited coroutine is left behind.
        return await wrapped(*args, **kwargs)
    except BaseException as error:
        shed(error)
        _note(op, error)
        raise
    finally:
        calling_back.set(before)
