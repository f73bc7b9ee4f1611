"""Python's ways of running code in another thread: code that a hook runs there counts as the hook's.

A thread that a hook starts is the hook's for good. In a pool, only what the hook submits is: the pool's threads serve
others too, whoever caused them to start.

What the operation of a framework's model submits counts as that operation's: some frameworks call a provider's client
in a pool, without the context of the call. Where a framework runs other parts of an operation there, such as tools of a
run, its adapter ``pools``, and they are inside of it.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from spanhook.concurrency import OwnThread
from spanhook.engine import call_inside
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Args, InHook, Kwargs, Record, Signal, current, shed

_HERE = "spanhook.instrument._threads"
_POOLS = "concurrent.futures."


def _hook() -> InHook | None:
    """The marker of the running code if it is a hook's."""
    held = current.get()
    if held is None or isinstance(held, InHook):
        return held
    return InHook(held) if held.in_hook else None


def thread_starts(thread: threading.Thread, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """``Thread.start`` was called: the thread marks itself first."""
    hook = _hook()
    if hook is not None and thread.ident is None and not isinstance(thread, OwnThread) and not _of_a_pool(thread):
        run, given = thread.run, "run" in vars(thread)

        def marked() -> None:
            if given:
                thread.run = run
            else:
                del thread.run
            current.set(hook)
            run()

        thread.run = marked
    return args, kwargs


def _of_a_pool(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    return any(str(getattr(one, "__module__", "")).startswith(_POOLS) for one in (type(thread), target))


def submitted(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A function is about to be called in another thread, with the arguments that follow it."""
    hook = _hook()
    if hook is None or not args:
        return args, kwargs
    return (partial(_call, hook, args[0]), *args[1:]), kwargs


def pooled(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A function is about to be called in a thread of a pool, with the arguments that follow it."""
    op = current.get()
    if op is None or not args:
        return args, kwargs
    if type(op) is not Record or op.in_hook:
        return submitted(_instance, args, kwargs)
    adapter = op.adapter
    if op.ended or not ("pools" in adapter.traits or adapter.nesting.is_framework):
        return args, kwargs
    return (partial(call_inside if "pools" in adapter.traits else _call, op, args[0]), *args[1:]), kwargs


def _call(held: Record | InHook, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    before = current.get()
    current.set(held)
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        shed(error)
        raise
    finally:
        current.set(before)


threads = Bindings(
    (
        Signal(module="threading", name="Thread.start", before=f"{_HERE}:thread_starts"),
        Signal(module="concurrent.futures.thread", name="ThreadPoolExecutor.submit", before=f"{_HERE}:pooled"),
        Signal(module="_thread", name="start_new_thread", before=f"{_HERE}:submitted"),
    )
)
"""Bound while spanhook is instrumented, besides the libraries."""
