"""Drives one coroutine from both sync and async code.

A chain is written once, as a coroutine. It *parks* where the call belongs; its driver then makes the call in its own
thread, task and frame, and resumes it. Sync code drives it by hand, because nothing in it suspends on sync calls; async
code passes everything else that it yields to the event loop.
"""

import types
from collections.abc import Coroutine, Generator
from typing import Any

PARKED: Any = object()


@types.coroutine
def park() -> Generator[Any, Any, None]:
    """Hand control to the driver until it resumes the chain."""
    yield PARKED


def step(chain: Coroutine[Any, Any, None]) -> bool:
    """Run ``chain`` until it parks (true) or ends (false), from sync code.

    Raises:
        RuntimeError: It waited for something, which only async code can do.
    """
    try:
        yielded = chain.send(None)
    except StopIteration:
        return False
    if yielded is not PARKED:
        chain.close()
        raise RuntimeError(f"a hook chain driven by a sync call tried to wait for {yielded!r}")
    return True


@types.coroutine
def astep(chain: Coroutine[Any, Any, None]) -> Generator[Any, Any, bool]:
    """Run ``chain`` until it parks (true) or ends (false), from async code."""
    try:
        yielded = chain.send(None)
        while yielded is not PARKED:
            try:
                sent = yield yielded
            except BaseException as error:
                yielded = chain.throw(error)
            else:
                yielded = chain.send(sent)
    except StopIteration:
        return False
    return True


@types.coroutine
def rest(coroutine: Coroutine[Any, Any, Any], yielded: Any) -> Generator[Any, Any, Any]:
    """Await the rest of a coroutine that was stepped once by hand and yielded ``yielded``."""
    try:
        while True:
            try:
                sent = yield yielded
            except BaseException as error:
                yielded = coroutine.throw(error)
            else:
                yielded = coroutine.send(sent)
    except StopIteration as stop:
        return stop.value


def drive(step: Coroutine[Any, Any, Any]) -> Any:
    """Run a step of a sync stream, which never suspends.

    Raises:
        RuntimeError: It suspended nevertheless.
    """
    try:
        step.send(None)
    except StopIteration as stop:
        return stop.value
    step.close()
    raise RuntimeError("a sync stream tried to wait")
