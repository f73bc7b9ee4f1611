"""Drives coroutines by hand, from sync and from async code.

What runs hooks is written once, as coroutines. Sync code drives them by hand, because nothing in them suspends on sync
calls. A hook around a call *parks* where the call belongs; its driver then makes the call in its own thread, task and
frame, and resumes the hook.
"""

import types
from collections.abc import Coroutine, Generator
from typing import Any

PARKED: Any = object()


@types.coroutine
def park() -> Generator[Any, Any, None]:
    """Hand control to the driver until it resumes the coroutine."""
    yield PARKED


@types.coroutine
def astep(coroutine: Coroutine[Any, Any, None]) -> Generator[Any, Any, bool]:
    """Run ``coroutine`` until it parks (true) or ends (false); what else it yields is passed to the event loop."""
    try:
        yielded = coroutine.send(None)
        while yielded is not PARKED:
            try:
                sent = yield yielded
            except BaseException as error:
                yielded = coroutine.throw(error)
            else:
                yielded = coroutine.send(sent)
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


def drive(step: Coroutine[Any, Any, Any] | None) -> Any:
    """Run a coroutine of a sync call or a step of its stream, which never suspends; nothing if there is none.

    Raises:
        RuntimeError: It suspended nevertheless.
    """
    if step is None:
        return None
    try:
        step.send(None)
    except StopIteration as stop:
        return stop.value
    step.close()
    raise RuntimeError("code that runs for a sync call tried to wait")
