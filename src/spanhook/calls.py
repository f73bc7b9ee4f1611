"""Making one call with its hooks around it: the drivers for functions and coroutine functions.

What comes back is settled by what it is: a value, an awaitable, or a stream.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from spanhook.absorption import Absorbed
from spanhook.current import InHook
from spanhook.finishing import Run, afinish, apasses, finish, passes, prepared, start
from spanhook.lifecycle import begin, enter, fail, outcome, restore, settle, standing_in
from spanhook.proxies import hand_over, overhear, stream_sort
from spanhook.record import Record
from spanhook.shape import Args, Kwargs, Shape
from spanhook.tracebacks import shed

Held = Record | InHook | None


def call(shape: Shape, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call a plain function as an operation."""
    op = begin(shape, instance, args, kwargs)
    if op is None:
        return wrapped(*args, **kwargs)
    if isinstance(op, Absorbed):
        args, kwargs = prepared(shape, instance, args, kwargs)
        with op:
            result = wrapped(*args, **kwargs)
        return overhear(op, instance, args, kwargs, result)
    held = enter(op)
    try:
        run = start(op, is_async=False) if op.plan is not None else None
        if op.error is None and (run is None or passes(op, run)):
            op.called = True
            if shape.prepare is not None:
                op.args, op.kwargs = prepared(shape, instance, op.args, op.kwargs)
            try:
                result = wrapped(*op.args, **op.kwargs)
            except BaseException as error:
                fail(op, error)
            else:
                if shape.stream_of is not None and (stream := hand_over(op, run, result)) is not None:
                    return stream
                if issubclass(type(result), Awaitable):
                    return _awaited(op, run, result)
                settle(op, result)
        finish(op, run)
    finally:
        restore(held)
    return outcome(op)


async def acall(shape: Shape, wrapped: Callable[..., Awaitable[Any]], instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call a coroutine function as an operation."""
    op = begin(shape, instance, args, kwargs)
    try:
        if op is None:
            return await wrapped(*args, **kwargs)
        if isinstance(op, Absorbed):
            args, kwargs = prepared(shape, instance, args, kwargs)
            with op:
                result = await wrapped(*args, **kwargs)
            return overhear(op, instance, args, kwargs, result)
    except BaseException as error:
        shed(error)
        raise
    held = enter(op)
    try:
        run = start(op, is_async=True, direct=partial(_make, op, wrapped)) if op.plan is not None else None
        if op.error is None and (run is None or await apasses(op, run)):
            await _make(op, wrapped)
            if shape.stream_of is not None and (stream := hand_over(op, run, op.result)) is not None:
                return stream
        if run is None:
            finish(op, run)
        else:
            await afinish(op, run)
    finally:
        restore(held)
    try:
        result = outcome(op)
        if op.short_circuited and issubclass(type(result), Awaitable):
            return await result
        return result
    except BaseException as error:
        shed(error)
        raise


def call_for(held: Held, wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Call a plain function for what was current elsewhere."""
    with standing_in(held):
        return wrapped(*args, **kwargs)


async def acall_for(held: Held, wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    """Call a coroutine function for what was current elsewhere."""
    try:
        with standing_in(held):
            return await wrapped(*args, **kwargs)
    except BaseException as error:
        shed(error)
        raise


async def _make(op: Record, wrapped: Callable[..., Awaitable[Any]]) -> None:
    op.called = True
    if op.shape.prepare is not None:
        op.args, op.kwargs = prepared(op.shape, op.instance, op.args, op.kwargs)
    try:
        result = await wrapped(*op.args, **op.kwargs)
    except BaseException as error:
        fail(op, error)
    else:
        if op.shape.stream_of is not None and stream_sort(op.shape, result):
            op.result = result
        else:
            settle(op, result)


async def _awaited(op: Record, run: Run | None, result: Awaitable[Any]) -> Any:
    """Go on with an operation whose plain function returned an awaitable."""
    held = enter(op)
    try:
        try:
            settle(op, await result)
        except BaseException as error:
            shed(error)
            op.error = error
        await afinish(op, run)
    finally:
        restore(held)
    try:
        return outcome(op)
    except BaseException as error:
        shed(error)
        raise
