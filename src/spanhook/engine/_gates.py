"""The hooks of a call: its gates are asked whether it may be made, and the others run after it.

Between the two, spanhook makes its own last changes to the call.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from opentelemetry.propagate import inject

from spanhook import semconv
from spanhook.concurrency import drive, reaper
from spanhook.diagnostics import internal
from spanhook.errors import Reject
from spanhook.gating import AROUND, WRAP, Runner, conclude, count_decision, publish
from spanhook.model import Adapter, Args, HookDecisions, Kwargs, Looking, Record, StreamState, clock, copied


def passes(op: Record) -> bool:
    """Give ``op`` the runner of its hooks and run the gates; listeners alone are notified. Its context is current.

    Returns:
        Whether to make the call.
    """
    plan = op.plan
    if plan is None or (not plan.hooked and op.error is None):
        return _unhooked(op)
    op.runner = runner = Runner(op, plan, is_async=False)
    try:
        waiting = runner.enter()
        if waiting is not None:
            drive(waiting)
    except BaseException as error:
        return broken(op, error)
    return op.error is None if waiting is None else runner.calls


async def apasses(op: Record, direct: Callable[[], Awaitable[None]] | None = None) -> bool:
    """``passes`` for async code.

    Args:
        op: The operation.
        direct: Makes the call for a hook that cannot leave that to the caller.
    """
    plan = op.plan
    if plan is None or (not plan.hooked and op.error is None):
        return _unhooked(op)
    reaper.start()  # the garbage collector may close a coroutine, and no thread can be started there
    op.runner = runner = Runner(op, plan, is_async=True, direct=direct)
    try:
        waiting = runner.enter()
        if waiting is not None:
            await waiting
    except BaseException as error:
        return broken(op, error)
    return op.error is None if waiting is None else runner.calls


def _unhooked(op: Record) -> bool:
    if op.plan is not None:
        publish(op, "pre", count_decision)
    return op.error is None


def run_rest(op: Record) -> None:
    """Run the hooks that have waited for the call, and those after it, and conclude the operation."""
    runner = op.runner
    if runner is None or runner.done:
        conclude(op)
        return
    try:
        if (waiting := runner.leave()) is not None:
            drive(waiting)
        if (waiting := runner.observe()) is not None:
            drive(waiting)
    except Exception as error:
        _unfinished(op, error)


async def arun_rest(op: Record) -> bool:
    """``run_rest`` for async code; true if hooks are left that must run apart, because the call was cancelled."""
    runner = op.runner
    if runner is None or runner.done:
        conclude(op)
        return False
    try:
        if (waiting := runner.leave()) is not None:
            await waiting
        if runner.detaches:
            return True
        if (waiting := runner.observe()) is not None:
            await waiting
    except Exception as error:
        _unfinished(op, error)
    return False


def asked(op: Record) -> None:
    """Note when a stream was requested: its gates' time is not time that the model took to begin."""
    if semconv.GEN_AI_REQUEST_STREAM in op.attributes:
        op.part(StreamState).asked_ns = clock.now()


def broken(op: Record, error: BaseException) -> bool:
    """If gates cannot be run, the call is refused."""
    if isinstance(error, Exception):
        reject = Reject("spanhook could not run its hooks", status_code=500)
        reject.__cause__ = error
        decided = op.part(HookDecisions)
        op.error, decided.refused = reject, True
        conclude(op)
        internal.report("chain", error)
    else:
        op.error = error
        conclude(op)
    return False


def _unfinished(op: Record, error: Exception) -> None:
    """Hooks after the call cannot be run: its result is withheld if one of them fails closed."""
    plan = op.runner.plan
    late = (*plan.post, *plan.together, *(bound for bound in plan.pre if bound.form in (AROUND, WRAP)))
    if op.error is None and any(bound.closed for bound in late):
        broken(op, error)
    else:
        internal.report("chain", error)
        conclude(op)


def prepared(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a call that is about to be made, with spanhook's own last changes. Its context is current."""
    if adapter.editing.prepare is not None:
        try:
            args, kwargs = adapter.editing.prepare(instance, args, kwargs)
        except Exception as error:
            internal.report("extract.prepare", error)
    return sent_on(adapter, instance, args, kwargs)


def sent_on(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a call with the current trace context, if it carries one to others."""
    if adapter.editing.onward is not None:
        try:
            carrier: dict[str, str] = {}
            inject(carrier)
            args, kwargs = adapter.editing.onward(instance, args, kwargs, carrier)
        except Exception as error:
            internal.report("extract.onward", error)
    return args, kwargs


def sent(
    adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
) -> tuple[Any, Args, Kwargs]:
    """Make a call; once more if it fails because of spanhook's own last changes.

    Returns:
        Its result, and the arguments with which it was made.
    """
    try:
        return wrapped(*args, **kwargs), args, kwargs
    except Exception as error:
        again = _repeated(adapter, instance, args, kwargs, error)
        if again is None:
            raise
    args, kwargs, succeeded = again
    result = wrapped(*args, **kwargs)
    succeeded()
    return result, args, kwargs


async def asent(
    adapter: Adapter, wrapped: Callable[..., Awaitable[Any]], instance: Any, args: Args, kwargs: Kwargs
) -> tuple[Any, Args, Kwargs]:
    """``sent`` for a coroutine function."""
    try:
        return await wrapped(*args, **kwargs), args, kwargs
    except Exception as error:
        again = _repeated(adapter, instance, args, kwargs, error)
        if again is None:
            raise
    args, kwargs, succeeded = again
    result = await wrapped(*args, **kwargs)
    succeeded()
    return result, args, kwargs


def _repeated(
    adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, error: Exception
) -> tuple[Args, Kwargs, Callable[[], object]] | None:
    assert adapter.editing.repeat is not None
    try:
        return adapter.editing.repeat(instance, args, kwargs, error)
    except Exception as failure:
        internal.report("extract.repeat", failure)
        return None


def show(op: Record) -> None:
    """Keep what gates were shown of the arguments of a call that is about to be made."""
    receiving = op.adapter.receiving
    assert receiving is not None
    try:
        if receiving.shown is not None:
            op.part(Looking).shown = receiving.shown(op.instance, op.args, op.kwargs)
        else:
            op.part(Looking).shown = copied(op.request().arguments)
    except Exception as error:
        internal.report("extract.shown", error)
        op.part(Looking).shown = {}  # what the body receives differs from that
