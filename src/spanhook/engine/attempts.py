"""Functions that make calls until one succeeds: no other attempt makes up for the rejection of one.

A library catches every ``Exception`` there, so the rejection leaves it as something else, up to the operation whose
attempt it was, or up to the function itself if that is called outside of one.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from spanhook.errors import AttemptStopped, Reject
from spanhook.model import Args, InHook, Kwargs, Record, current, shed

Held = Record | InHook | None
_attempting: ContextVar[tuple[str, Held] | None] = ContextVar("spanhook.attempting", default=None)
"""The layer of the attempts that are being made, and what was current when that began."""


def is_attempt(op: Record) -> bool:
    """Whether an operation is one of several attempts."""
    found = _attempting.get()
    return found is not None and found[0] == op.adapter.layer and found[1] is op.held


def attempt(layer: str, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Call a plain function that makes attempts."""
    before, held = _attempting.get(), current.get()
    try:
        _attempting.set((layer, held))
        return wrapped(*args, **kwargs)
    except AttemptStopped as stopped:
        if _is_inner(before, held, layer):
            raise
        refused = stopped.reject
    except BaseException as error:
        shed(error)
        raise
    finally:
        _attempting.set(before)
    return _raised(refused)


async def aattempt(layer: str, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    """``attempt`` for a coroutine function."""
    before, held = _attempting.get(), current.get()
    try:
        _attempting.set((layer, held))
        return await wrapped(*args, **kwargs)
    except AttemptStopped as stopped:
        if _is_inner(before, held, layer):
            raise
        refused = stopped.reject
    except BaseException as error:
        shed(error)
        raise
    finally:
        _attempting.set(before)
    return _raised(refused)


def _is_inner(before: tuple[str, Held] | None, held: Held, layer: str) -> bool:
    """Whether others raise the rejection: attempts around these, or the operation of the same library around them."""
    if before is not None and before[0] == layer and before[1] is held:
        return True
    return type(held) is Record and not held.ended and held.adapter.layer == layer


def _raised(reject: Reject) -> Any:
    raise reject
