"""Waiting for tasks that may not end when they are cancelled, and where such a task waits."""

import asyncio
import gc
import inspect
from collections.abc import Iterable, Sequence
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

from spanhook.diagnostics import internal

_DEEPEST, _SHOWN, _TOLD = 2_000, 12, 10
_REST: Any = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))
_awaited: "WeakKeyDictionary[asyncio.Task[Any], asyncio.Task[Any]]" = WeakKeyDictionary()
"""Which task another one waits for, where the event loop does not know it."""


async def ended(task: "asyncio.Task[Any]") -> None:
    """Wait for the end of a task, whatever it is. If the caller is cancelled, the task goes on."""
    caller = asyncio.current_task()
    assert caller is not None
    _awaited[caller] = task
    try:
        await asyncio.wait((task,))
    finally:
        _awaited.pop(caller, None)


async def give_up(tasks: "Iterable[asyncio.Task[Any]]", waits_s: Sequence[float], component: str, what: str) -> None:
    """Wait for tasks that were cancelled, cancel them again whenever a wait is over, and tell of those that go on.

    Args:
        tasks: The tasks; their names say whose they are.
        waits_s: How long each wait is, in seconds.
        component: What is reported.
        what: What a task is, for the message.
    """
    left = set(tasks)
    for seconds in waits_s:
        if left:
            _, left = await asyncio.wait(left, timeout=seconds)
        for task in left:
            task.cancel()
    if left:
        internal.report(component, TimeoutError("\n".join(_goes_on(one, what) for one in list(left)[:_TOLD])))


def _goes_on(task: "asyncio.Task[Any]", what: str) -> str:
    return f"{what} {task.get_name()} goes on although it is cancelled; it waits in\n{where(task)}"


def where(task: "asyncio.Task[Any]") -> str:
    """Where a suspended task waits: the innermost of its calls, one a line, the innermost last. No values."""
    places = list[str]()
    following: asyncio.Task[Any] | None = task
    while following is not None and len(places) < _DEEPEST:
        places += _places(following.get_coro())
        following = _awaited.get(following)
    return "\n".join(f"  {place}" for place in places[-_SHOWN:])


def place(code: CodeType, line: int | None) -> str:
    """A place in code: its file, line and function."""
    return f"{code.co_filename}:{line} {code.co_name}"


def _places(awaited: Any) -> list[str]:
    """The frames of a coroutine and of what it awaits, without those that only wait."""
    found = list[str]()
    for _ in range(_DEEPEST):
        if awaited is None:
            break
        frame, awaited = _suspended(awaited)
        if frame is not None and not _is_waiting_itself(frame.f_globals.get("__name__", "")):
            found.append(place(frame.f_code, frame.f_lineno))
    return found


def _is_waiting_itself(module: str) -> bool:
    return module == __name__ or module.startswith("asyncio.")


def _suspended(awaited: Any) -> tuple[FrameType | None, Any]:
    """The frame of something that is awaited, and what it awaits itself."""
    for frame, further in _REST:
        if hasattr(awaited, further):
            return getattr(awaited, frame), getattr(awaited, further)
    return None, _wrapped(awaited)


def _wrapped(awaited: Any) -> Any:
    """What is behind a step of an asynchronous generator, or behind ``__await__`` of a coroutine: they do not say."""
    if isinstance(awaited, asyncio.Future):
        return None
    kinds = (inspect.iscoroutine, inspect.isasyncgen)
    return next((one for one in gc.get_referents(awaited) if any(kind(one) for kind in kinds)), None)
