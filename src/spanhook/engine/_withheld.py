"""Releases output that leaves a call other than as its return value, once hooks have decided about it."""

from collections.abc import Callable, Iterator
from typing import Any

from spanhook.diagnostics import internal
from spanhook.gating import conclude
from spanhook.model import Record, Withheld


async def hand_out(op: Record, *, is_async: bool) -> None:
    """Release withheld output as hooks decided. If that raises, the call fails with that error."""
    before = op.error
    for way in op.deferred.outputs:
        if not await _leave(op, way, is_async=is_async):
            await _leave(op, way, is_async=is_async)  # the rest of it, now that the call has failed
    if op.error is not before:
        conclude(op)


async def _leave(op: Record, way: Withheld, *, is_async: bool) -> bool:
    steps = way.out()
    while (do := _next(steps)) is not None:
        try:
            made = do(is_async)
            if is_async and made is not None:
                await made
        except BaseException as error:
            op.error = error
            return not isinstance(error, Exception)
    return True


def _next(steps: Iterator[Callable[[bool], Any]]) -> Callable[[bool], Any] | None:
    try:
        return next(steps, None)
    except Exception as error:
        internal.report("withhold", error)
        return None
