"""Caches that libraries keep answers in: what hooks have replaced or refused does not get there.

Hooks decide about an answer once the library's call has returned, and libraries write to their caches before that. So a
write waits until hooks have decided, and is made if they have left the answer as it was.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from spanhook.engine import registry
from spanhook.gating import Registry
from spanhook.model import Deferred, Record, current

_KINDS = frozenset(("llm.call", "embeddings.create", "tool.execute", "mcp.resource.read"))
"""What answers with what is cached. What contains such calls caches other things meanwhile."""

Write = Callable[[bool], Any]


def always(_hooks: Registry) -> bool:
    """Whichever hooks are active now: a call that is under way keeps those that it began with."""
    return True


def hooked() -> bool:
    """Whether any hooks are active."""
    return bool(registry.plans or registry.outer)


def hold(write: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a write to a cache waits, or is not made any more."""
    return _held(partial(_written, partial(write, *args, **kwargs)))


def ahold(write: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """``hold`` for a coroutine function."""
    return _held(partial(_awritten, partial(write, *args, **kwargs)))


def _held(write: Write) -> bool:
    op = current.get()  # also one that has ended: streams are written in tasks of their own
    if type(op) is not Record or op.plan is None or op.kind not in _KINDS or not op.called:
        return False
    waiting = next((way for way in op.deferred.outputs if isinstance(way, _Writes)), None)
    if op.ended or (waiting is not None and waiting.decided):
        return _is_changed(op)
    plan = op.plan
    if not any(bound.concerns(op) for bound in (*plan.results, *plan.buffers, *plan.windows)):
        return False
    if waiting is None:
        waiting = _Writes(op)
        op.part(Deferred).outputs += (waiting,)
    waiting.add(write)
    return True


def _is_changed(op: Record) -> bool:
    return op.error is not None or op.decided.replaced or op.stream.reworded


class _Writes:
    """The writes of one call."""

    def __init__(self, op: Record) -> None:
        self._op: Record | None = op
        self._queue: deque[Write] = deque()
        self.decided = False

    def add(self, write: Write) -> None:
        self._queue.append(write)

    def out(self) -> Iterator[Write]:
        """Make them, unless hooks have changed the answer."""
        op, self._op, self.decided = self._op, None, True
        while self._queue and op is not None and not _is_changed(op):
            yield self._queue.popleft()
        self._queue.clear()


def _written(write: Callable[[], Any], awaits: bool) -> Any:
    """Write; beside an event loop, as the cache may be a file or a server."""
    if awaits and _has_loop():
        return asyncio.to_thread(write)
    write()
    return None


def _awritten(write: Callable[[], Any], awaits: bool) -> Any:
    return write() if awaits else None  # nobody can await it any more


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
