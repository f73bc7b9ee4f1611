"""Refusals that hooks raise: found in what a hook raises instead, mended, and copied."""

import weakref
from collections.abc import Iterator
from functools import partial
from traceback import walk_tb
from types import FrameType
from typing import Any, cast

from spanhook.errors import Reject, unmade
from spanhook.mending import mend
from spanhook.model import copied_error, without_circumstances

_raised: dict[int, weakref.ref[Reject]] = {}
"""Refusals that hooks have raised and that are still alive, by id."""


def own(reject: Reject) -> Reject:
    """A copy of a refusal that a hook has raised; the original stays as if it had not been raised.

    A hook may raise the same object repeatedly, even in several threads at once. From the second time on, its
    traceback and context are not copied, as they may belong to another thread.
    """
    twin = copied_error(reject)
    if twin is reject or not isinstance(twin, Reject):
        return mended(reject)
    known = id(reject)
    if known in _raised:
        without_circumstances(twin)
    else:
        _raised[known] = weakref.ref(reject, partial(_raised.pop, known))  # of C, as an interrupt in it would be lost
    without_circumstances(reject)
    return mended(twin)


def again(reject: Reject) -> Reject:
    """The same refusal for another operation, not raised yet."""
    twin = copied_error(reject)
    if twin is reject or not isinstance(twin, Reject):
        return reject
    without_circumstances(twin)
    return twin


def mended(reject: Reject) -> Reject:
    """A refusal that a hook has raised, with what servers and records can use in place of what they cannot.

    Returns:
        The refusal itself, unless its attributes cannot be set.
    """
    try:
        traceback = reject.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        mend(reject, traceback and traceback.tb_frame)
    except Exception:
        return unmade(Reject, next((text for text in reject.args if isinstance(text, str)), Reject.reason))
    return reject


def returned_refusal(value: Any) -> Reject | None:
    """The refusal that a hook has returned, or answered with, instead of raising it."""
    if isinstance(value, type) and issubclass(cast("type[Any]", value), Reject):
        value = value()
    return value if isinstance(value, Reject) else None


def refusal_in(error: BaseException) -> Reject | None:
    """The refusal that a hook was making when ``error`` came in its way: in a ``finally``, in an ``except`` clause that
    handles the refusal, or in a group of exceptions. ``raise ... from None`` takes a refusal back.
    """
    if isinstance(error, Reject) or not isinstance(error, Exception):
        return error if isinstance(error, Reject) else None
    return refusal_before(error)


def refusal_before(error: BaseException) -> Reject | None:
    """The same for any exception that has passed through the hook's code, such as the one of a hook that ran out of
    time.
    """
    frames = {frame for frame, _ in walk_tb(error.__traceback__)}
    # An exception that the application was handling before has none of the hook's frames. Where Python itself raises
    # RuntimeError in place of a StopIteration, its traceback has none of them either.
    for refusal, grouped in _refusals(error):
        ended = isinstance(refusal, StopIteration | StopAsyncIteration) and isinstance(error, RuntimeError)
        if grouped or ended or not frames.isdisjoint(_frames(refusal)):
            return refusal
    return None


def refusal_among(error: BaseException) -> Reject | None:
    """The same for an exception from a task or thread where nothing but the hook runs."""
    return next((refusal for refusal, _ in _refusals(error)), None)


def _refusals(error: BaseException) -> Iterator[tuple[Reject, bool]]:
    """The refusals among an exception and its causes, each with whether it is in a group of exceptions."""
    for cause in _causes(error):
        if isinstance(cause, Reject):
            yield cause, False
        elif isinstance(cause, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", cause).subgroup(Reject)
            while isinstance(group, BaseExceptionGroup):
                group = group.exceptions[0]
            if group is not None:
                yield group, True


def _frames(error: BaseException) -> Iterator[FrameType]:
    return (frame for frame, _ in walk_tb(error.__traceback__))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what it was raised from or because of."""
    seen, cause = set[int](), cast("BaseException | None", error)
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
