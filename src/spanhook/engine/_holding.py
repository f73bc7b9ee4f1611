"""What of a stream is held back until hooks have decided about it: nothing, the end of its text, or all of it."""

from collections import deque
from typing import Any

from spanhook.engine._announcing import announced
from spanhook.engine._ending import Ending
from spanhook.engine._windowed import Flow, Framed, Windowed, window_of
from spanhook.model import UNREAD, Adapter, Body, Record


class Holding(Ending):
    """A stream of which something may be held back.

    Args:
        adapter: How the stream's call is read.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.

    Attributes:
        _flow: What hooks see of the source before it goes out.
        _windowed: The source with what goes out, once it is an iterator.
    """

    __slots__ = ("_body", "_buffer", "_flow", "_windowed", "adapter", "source", "streaming")

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        super().__init__(is_async=is_async)
        self.adapter, self.streaming, self.source = adapter, adapter.streaming or UNREAD, source
        self._body: Body | None = None
        self._buffer: deque[Any] | None = None
        self._flow: Flow | Framed | None = None
        self._windowed: Windowed | None = None

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
        if self._flow is not None:
            self._windowed = Windowed(steps, self._flow)
        self.source = steps if self._windowed is None else self._windowed

    def _announces(self, op: Record) -> bool:
        """Go on with the library's own stream of the answer that hooks gave, if it has one."""
        source = announced(op, is_async=self.is_async)
        if source is None:
            return False
        self.source, self.state = source, "flowing"
        return True

    def _release(self, op: Record) -> None:
        super()._release(op)
        self._body = None  # whose holder leads back here

    def _read(self, op: Record) -> None:
        if self._windowed is not None and self._reading is not None:
            for chunk in self._windowed.left():
                self._reading.shows(op, chunk)
        super()._read(op)
