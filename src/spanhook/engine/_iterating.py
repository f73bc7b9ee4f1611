"""Streams whose ``__iter__`` is a generator function: ours is one too, which costs less per chunk than a class does."""

from collections.abc import Generator
from inspect import CO_GENERATOR
from typing import Any, cast

from spanhook.engine._streams import END, Track


def generates(stream: Any) -> bool:
    """Whether the ``__iter__`` of its class is a generator function."""
    kind = cast("type[Any]", type(stream))
    code = getattr(kind.__iter__, "__code__", None)
    return code is not None and bool(code.co_flags & CO_GENERATOR)


def chunks(holder: Any) -> Generator[Any, None, Any]:
    """What the consumer of a stream gets, from the library's own generator over it.

    No handler is around the ``yield``: a loop that is left does not end the stream, and where the generator is
    collected no code of ours runs.

    Args:
        holder: The stream's proxy, which ends the operation once nothing refers to it.
    """
    track: Track = holder._self_track
    steps = iter(track.source)
    while True:
        try:
            brief = track.brief
            if brief is None:
                chunk = track.take(steps)
            else:
                try:
                    chunk = next(steps)
                    if not brief(chunk):
                        chunk = track.taken(chunk, steps)
                except BaseException as error:
                    chunk = track.stopped(error)
        except BaseException as error:
            track.escapes(error)
            raise
        if chunk is END:
            return track.value
        yield chunk
