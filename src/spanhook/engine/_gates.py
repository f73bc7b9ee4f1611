"""Before a call: asks its gates whether it may be made, and makes spanhook's own last changes to it."""

from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from opentelemetry.propagate import inject

from spanhook import semconv
from spanhook.concurrency import astep, reaper, step
from spanhook.diagnostics import internal
from spanhook.errors import Reject
from spanhook.gating import Chain, Passed, conclude, count_decision, leave_fast, pass_fast, publish
from spanhook.model import Adapter, Args, Kwargs, Record, clock

if TYPE_CHECKING:
    Run = CoroutineType[Any, Any, None]
else:
    Run = CoroutineType  # not subscriptable before Python 3.13


def start(op: Record, *, is_async: bool, direct: Callable[[], Awaitable[None]] | None = None) -> Run | None:
    """The chain of ``op``; ``None`` if it has no hooks, or only hooks that have already run.

    The operation's context is current.
    """
    run = begun(op, is_async=is_async, direct=direct, chained=True)
    assert type(run) is not Passed
    return run


def begun(
    op: Record, *, is_async: bool, direct: Callable[[], Awaitable[None]] | None = None, chained: bool = False
) -> Run | Passed | None:
    """As ``start``, for callers that end with ``finish``: no chain as long as hooks let the operation pass, unless
    ``chained``. Without one, ``allow`` is counted for calls about which gates decide, and for no others.
    """
    plan, passed = op.plan, None
    if plan is None:
        return None
    if not plan.hooked and op.error is None:
        publish(op, "pre", count_decision)
        return None
    if (plan.fast or plan.fast_post is not None) and op.error is None and op.coverage == "enforced":
        try:
            passed = pass_fast(op, plan, is_async=is_async)
        except BaseException as error:
            broken(op, error)
            return None
        if passed is None or (plan.fast_post is not None and passed.told is None and not chained):
            if plan.heard:
                publish(op, "pre", count_decision)
            asked(op)
            if passed is not None:
                if is_async:
                    reaper.start()  # as below
                passed.called = True
            return passed
    if is_async:
        reaper.start()  # the garbage collector may close a coroutine, and no thread can be started there
    return Chain(op, plan, is_async, count_decision, direct).run(passed)


def under_way(op: Record, passed: Passed) -> Run:
    """The chain that goes on where hooks without one got to; the call is being made, or was made."""
    run: Run | None = passed.chain
    if run is None:
        run = _chain(op, passed)
        step(run)
        passed.chain = run  # not before: an interrupt in between leaves the hooks to a chain that has begun nothing
        passed.told = None  # the chain has it; what a hook raised leads back here, through the frames it came through
    return run


def _chain(op: Record, passed: Passed) -> Run:
    if passed.is_async:
        reaper.start()  # the garbage collector may close a coroutine, and no thread can be started there
    return Chain(op, op.plan, passed.is_async, count_decision).run(passed)


def ended_fast(op: Record, passed: Passed) -> Run | None:
    """Run what comes after the call; ``None`` if that is done, else the chain that goes on."""
    if passed.done:
        return None
    if op.error is None and passed.chain is None and leave_fast(op, op.plan, passed):
        return None
    return under_way(op, passed)


def passes(op: Record, run: Run | None) -> bool:
    """Run the gates; returns whether to make the call. The operation's context is current."""
    if run is None:
        return op.error is None
    try:
        may = step(run) and op.error is None
    except BaseException as error:
        return broken(op, error)
    asked(op)
    return may


async def apasses(op: Record, run: Run | None) -> bool:
    """``passes`` for async code."""
    if run is None:
        return op.error is None
    try:
        may = await astep(run) and op.error is None
    except BaseException as error:
        return broken(op, error)
    asked(op)
    return may


def asked(op: Record) -> None:
    """Note when a stream was requested: its gates' time is not time that the model took to begin."""
    if semconv.GEN_AI_REQUEST_STREAM in op.attributes:
        op.asked_ns = clock.now()


def broken(op: Record, error: BaseException) -> bool:
    """If gates cannot be run, the call is refused."""
    if isinstance(error, Exception):
        reject = Reject("spanhook could not run its hooks", status_code=500)
        reject.__cause__ = error
        op.error, op.decided = reject, True
        conclude(op)
        internal.report("chain", error)
    else:
        op.error = error
        conclude(op)
    return False


def prepared(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a call that is about to be made, with spanhook's own last changes. Its context is current."""
    if adapter.prepare is not None:
        try:
            args, kwargs = adapter.prepare(instance, args, kwargs)
        except Exception as error:
            internal.report("extract.prepare", error)
    return sent_on(adapter, instance, args, kwargs)


def sent_on(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a call with the current trace context, if it carries one to others."""
    if adapter.onward is not None:
        try:
            carrier: dict[str, str] = {}
            inject(carrier)
            args, kwargs = adapter.onward(instance, args, kwargs, carrier)
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
    assert adapter.repeat is not None
    try:
        return adapter.repeat(instance, args, kwargs, error)
    except Exception as failure:
        internal.report("extract.repeat", failure)
        return None


def show(op: Record) -> None:
    """Keep what gates were shown of the arguments of a call that is about to be made."""
    try:
        op.shown = op.adapter.shown(op.instance, op.args, op.kwargs)  # pyright: ignore[reportOptionalCall]
    except Exception as error:
        internal.report("extract.shown", error)
        op.shown = {}  # what the body receives differs from that
