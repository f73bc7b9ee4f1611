"""What of a stream is held back until hooks have decided about it: nothing, the end of its text, or all of it."""

from collections import deque
from typing import Any

from spanhook.engine._ending import Ending
from spanhook.engine._windowed import Flow, Windowed, window_of
from spanhook.model import Adapter, Body, Record


class Holding(Ending):
    """A stream of which something may be held back.

    Args:
        adapter: How the stream's call is read.
        source: The library's own iterator.
        is_async: Whether its steps are awaited.
    """

    __slots__ = ("_body", "_buffer", "_windowed", "adapter", "source")

    def __init__(self, adapter: Adapter, source: Any, *, is_async: bool) -> None:
        super().__init__(is_async=is_async)
        self.adapter, self.source = adapter, source
        self._body: Body | None = None
        self._buffer: deque[Any] | None = None
        self._windowed: Windowed | None = None

    def _show(self, op: Record) -> None:
        """Have hooks see the text before it goes out, if they want to and it can be read as it arrives."""
        texts = self.adapter.texts
        if op.plan is None or not op.plan.windows or texts is None or self._body is not None or not op.streamed:
            return
        window = window_of(op)
        if window is not None:
            self.source = self._windowed = Windowed(self.source, Flow(op, texts, window))

    def _held_back(self, op: Record) -> bool:
        """Whether hooks must see the whole stream before the consumer sees any of it."""
        plan = op.plan
        if plan is None or not op.streamed or not (plan.buffers or plan.windows):
            return False
        if any(bound.concerns(op) for bound in plan.buffers):
            return True
        return self._windowed is None and any(bound.concerns(op) for bound in plan.windows)

    def _read(self, op: Record) -> None:
        if self._windowed is not None and self._reading is not None:
            for chunk in self._windowed.left():
                self._reading.shows(op, chunk)
        super()._read(op)
