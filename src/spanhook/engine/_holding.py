"""What of a stream is held back until hooks have decided about it: nothing, the end of its text, or all of it."""

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from spanhook.concurrency import running_loop
from spanhook.engine._announcing import announced
from spanhook.engine._completion import afinish, finish
from spanhook.engine._ending import StreamEnd
from spanhook.engine._windowed import Flow, Framed, Windowed, window_of
from spanhook.engine.lifecycle import returned
from spanhook.model import UNREAD, Adapter, Body, Record, current
from spanhook.telemetry import context_with, get_context, set_context

TrackState = Literal["lazy", "flowing", "holding", "releasing", "refused", "passing"]
"""What a stream is doing; see ``Track``."""

ENDED: frozenset[TrackState] = frozenset(("releasing", "refused", "passing"))
"""States in which the operation has ended, or there is none."""

ANSWERED: frozenset[TrackState] = frozenset(("releasing", "refused"))
"""States in which the source is not stepped any more: hooks have refused, answered or seen all of it."""


class Holding:
    """A stream of which something may be held back.

    Args:
        adapter: How the stream's call is read.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.

    Attributes:
        op: The operation, once it has begun.
        state: What the stream is doing.
        end: What ends the operation, also without the stream.
        hand: Called by a finalizer when the consumer drops the stream: a C function.
        brief: Reads a chunk of the usual form, and says whether it has it; set while a step consists of nothing else.
        _flow: What hooks see of the source before it goes out.
    """

    __slots__ = (
        "__weakref__",
        "_body",
        "_buffer",
        "_flow",
        "adapter",
        "brief",
        "end",
        "hand",
        "is_async",
        "op",
        "source",
        "state",
        "streaming",
    )

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        self.adapter, self.streaming, self.source = adapter, adapter.streaming or UNREAD, source
        self.is_async = is_async
        self.op: Record | None = None
        self.state: TrackState = "lazy"
        self.end = StreamEnd(self, is_async=is_async)
        self.hand: Callable[[], Any] = int
        self.brief: Callable[[Any], bool] | None = None
        self._body: Body | None = None
        self._buffer: deque[Any] | None = None
        self._flow: Flow | Framed | None = None

    def _keep(self, op: Record) -> None:
        """From here on the operation ends with the stream, even if nobody closes it."""
        self.op = op
        self.hand = self.end.keep(op)
        if self.is_async and op.plan is not None:
            self.end.loop = running_loop()

    def _release(self, op: Record) -> None:
        """Nothing has to be kept, read or ended any more."""
        self.hand = int
        self._body = None  # whose holder leads back here
        self.end.release(op)

    async def _finish(self, op: Record) -> None:
        """The stream has ended: run the remaining hooks and end the operation."""
        if next(self.end.once):  # it was dropped while an object that belongs to it is being closed
            return
        self.brief = None
        if self.state not in ANSWERED:
            self.state = "passing"
        returned(op)
        self.end.read(op)
        # Hooks need the context, which steps skipped or have already left.
        held = (get_context(), current.get()) if op.runner is not None and current.get() is not op else None
        try:
            if held is not None:
                set_context(context_with(op.span, op.before))
                current.set(op)
            if self.is_async:
                await afinish(op)
            else:
                finish(op)
        finally:
            if held is not None:
                try:
                    set_context(held[0])
                finally:
                    current.set(held[1])
        self._release(op)

    def detach(self) -> None:
        """The operation ends without the stream."""
        self.hand, self.brief, self.state = int, None, "passing"

    def _interrupted(self, op: Record, error: BaseException) -> None:
        """A step was interrupted inside spanhook's code; the reaper ends the stream."""
        self.hand = int
        if op.reported:
            return
        op.ends_again()
        if not op.end_ns and op.error is None:
            op.error = error
        self.end.alone(op)

    # ------------------------------------------------------------------------------------------- what is held back

    def _hold_back(self, op: Record) -> None:
        """Find out what hooks need held back, now that they have let the call pass."""
        self.state = "holding" if self._held_whole(op) else "flowing"

    def _held_whole(self, op: Record) -> bool:
        """Whether hooks must see the whole stream before the consumer sees any of it; else they may see its text."""
        plan = op.plan
        if plan is not None and self._body is not None and self._body.whole:
            return True
        if plan is None or not op.stream.streamed or not (plan.buffers or plan.windows):
            return False
        if any(bound.concerns(op) for bound in plan.buffers):
            return True
        if not any(bound.concerns(op) for bound in plan.windows):
            return False
        texts = self.streaming.texts if self._body is None else self._body.texts
        if texts is None:
            return True
        window = window_of(op)
        if window is None:
            return False
        self._flow = flow = Flow(op, texts, window)
        if self._body is None:
            self._window_on(self.source)
        elif self._body.framing is not None and (framing := self._body.framing()) is not None:
            self._flow = Framed(flow, framing)
        return False

    def _window_on(self, steps: Any) -> None:
        """From now on, the source is what goes out of this iterator."""
        self.source = steps
        if self._flow is not None:
            self.source = windowed = Windowed(steps, self._flow)
            self.end.outgoing = windowed.outgoing

    def _announces(self, op: Record) -> bool:
        """Go on with the library's own stream of the answer that hooks gave, if it has one."""
        source = announced(op, is_async=self.is_async)
        if source is None:
            return False
        self.source, self.state = source, "flowing"
        return True
