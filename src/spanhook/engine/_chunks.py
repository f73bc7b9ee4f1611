"""Stream chunks and their content: reading chunks as they pass, and writing an answer as chunks.

Errors in reading them do not affect the consumer.
"""

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

from spanhook.diagnostics import internal
from spanhook.engine._native_errors import native
from spanhook.engine.lifecycle import note_response
from spanhook.errors import Reject
from spanhook.model import UNREAD, Body, Chunks, Record, StreamState, clock
from spanhook.telemetry import telemetry


class Reading:
    """Reads the chunks of one stream as they pass.

    Args:
        chunks: Adds them up.
        ends_complete: Whether the consumer may stop at the chunk that completes the stream.
        timed: Whether to record when each chunk arrived.
    """

    __slots__ = ("_chunks", "_timed", "ends_complete")

    def __init__(self, chunks: Chunks, ends_complete: bool, timed: bool) -> None:
        self._chunks, self.ends_complete, self._timed = chunks, ends_complete, timed

    def shows(self, op: Record, chunk: Any) -> bool:
        """Record a chunk; returns whether the consumer should see it."""
        stream = op.stream
        if not stream.first_chunk_ns:
            stream = op.part(StreamState)
            stream.first_chunk_ns = clock.now()
            if self._timed:
                stream.later_chunks_ns = array("q")
        elif self._timed and stream.later_chunks_ns is not None:
            stream.later_chunks_ns.append(clock.now())
        try:
            return self._chunks.add(chunk) is not False  # one that says nothing lets it pass
        except Exception as error:
            internal.report("extract.chunk", error, lost=1)
            return True

    def brief(self, op: Record) -> Callable[[Any], bool] | None:
        """Reads a chunk of the usual form, and says whether it has it; ``None`` if all are to be read by ``shows``."""
        brief = None if self.ends_complete else getattr(self._chunks, "brief", None)
        times = op.stream.later_chunks_ns
        return brief if brief is None or times is None else _timed(brief, times)

    def is_complete(self) -> bool:
        """Whether the last chunk has arrived."""
        try:
            return self._chunks.complete
        except Exception as error:
            internal.report("extract.complete", error)
            return False

    def tell(self, op: Record) -> None:
        """Give the operation what has arrived so far."""
        chunks = self._chunks
        try:
            attributes, used = chunks.response()
            note_response(op, attributes, used)
            op.part(StreamState).mark = getattr(chunks, "mark", None)
            if chunks.keep:
                op._result = chunks.result()
        except Exception as error:
            internal.report("extract.response", error, lost=1)


def _timed(brief: Callable[[Any], bool], times: "array[int]") -> Callable[[Any], bool]:
    """``brief``, which also records when each chunk arrived."""

    def timed(chunk: Any) -> bool:
        came = clock.now()
        if not brief(chunk):
            return False
        times.append(came)
        return True

    return timed


def reading(op: Record, body: Body | None) -> Reading | None:
    """The reader for the stream of ``op``, whose call is the one that was made; ``None`` if its chunks are not read.

    Args:
        op: The operation.
        body: The body whose bytes are streamed, for a stream of bytes.
    """
    streaming = op.adapter.streaming or UNREAD
    chunks = None if body is None else body.chunks
    try:
        if chunks is None and streaming.chunks is not None:
            chunks = streaming.chunks(op.instance, op.args, op.kwargs)
        if chunks is not None:
            chunks.keep = op.plan is not None or telemetry.span_content or telemetry.event_content
    except Exception as error:
        internal.report("extract.chunks", error, lost=1)
    timed = op.kind == "llm.call" and telemetry.instruments is not None and telemetry.settings.chunk_times
    return None if chunks is None else Reading(chunks, streaming.ends != "exhausted", timed)


def body_of(op: Record, response: Any) -> Body | None:
    """The body of an HTTP response, read directly instead of through a stream's steps."""
    read = None if op.adapter.streaming is None else op.adapter.streaming.body
    if read is None:
        return None
    try:
        return read(op.instance, op.args, op.kwargs, response)
    except Exception as error:
        internal.report("extract.body", error)
        return None


def answer_chunks(op: Record, body: Body | None) -> deque[Any]:
    """The chunks of an answer that a hook gave, in the library's own type; ``body`` as for ``reading``.

    Raises:
        Reject: It cannot be expressed in chunks; the stream that it replaces must not be seen either.
    """
    streaming = op.adapter.streaming or UNREAD
    try:
        if body is not None:
            return deque(body.answer(op.decided.answer))
        if streaming.answer_chunks is None:
            return deque([op.result])
        return deque(streaming.answer_chunks(op.instance, op.args, op.kwargs, op.decided.answer))
    except Exception as error:
        reject = Reject(f"a hook's answer could not be delivered: {type(error).__name__}", status_code=500)
        raise native(op, reject) from error
