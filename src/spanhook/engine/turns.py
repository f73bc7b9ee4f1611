"""Operations that last over several calls of the one around them, such as an agent's over its turns."""

from collections.abc import Awaitable, Callable
from typing import Any

from spanhook.concurrency import reaper
from spanhook.engine._completion import afinish, interrupted
from spanhook.engine._gates import apasses
from spanhook.engine._lasting import end_lasting
from spanhook.engine._pending import await_end
from spanhook.engine.beginning import begin
from spanhook.engine.lifecycle import fail, outcome, settle
from spanhook.model import Args, Kwargs, Record, Turn, current, shed
from spanhook.telemetry import context_with, get_context, set_context


async def acall_turn(turn: Turn, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    """Call a coroutine function as a turn of an operation, which begins with it unless it has already."""
    try:
        around = turn.around
        lasting = around.lasting
        if lasting is not None and lasting.instance is not turn.instance:
            await end_lasting(around, afinish)
            lasting = None
        if lasting is not None:
            return await _go_on(turn, lasting, wrapped, args, kwargs)
        op = begin(turn.adapter, turn.instance, args, kwargs)
        if type(op) is not Record:
            return await wrapped(*args, **kwargs)
        return await _go_on(turn, op, wrapped, args, kwargs)
    except BaseException as error:
        shed(error)
        raise


async def _go_on(turn: Turn, op: Record, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    before, held, is_over = get_context(), current.get(), True
    try:
        try:
            set_context(context_with(op.span, op.before))
            current.set(op)
            if op.error is None if op.called else await apasses(op):
                op.called = True
                try:
                    result = await wrapped(*args, **kwargs)
                except BaseException as error:
                    fail(op, error)
                else:
                    op.result = result
                    is_over = turn.is_last(result)
                    if not is_over:
                        turn.around.lasting = op
                        return result
                    settle(op, result)
            turn.around.lasting = None
            await afinish(op)
        finally:
            try:
                set_context(before)
            finally:
                current.set(held)
    except BaseException as error:
        turn.around.lasting = None
        op.ended = True
        if not op.reported and not op.handed:
            reaper.put((interrupted, op, True, None, error))
            await_end(op)
        raise
    return outcome(op)
