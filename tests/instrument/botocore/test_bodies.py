"""Bodies of responses, however they are read."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.response import StreamingBody

from spanhook.instrument.botocore.content import ModelBody
from spanhook.instrument.botocore.streams import Buffer

LARGE = b'"' + b"x" * (32 << 20) + b'"'
"""As long as pictures are: what copies the rest for each piece would take minutes."""


@pytest.mark.parametrize("whole", [False, True])
def test_a_large_body_is_read_in_small_pieces_without_copying_the_rest_each_time(whole: bool) -> None:
    result: dict[str, Any] = {"body": StreamingBody(io.BytesIO(LARGE), len(LARGE)), "ResponseMetadata": {}}  # pyright: ignore[reportArgumentType]
    content = ModelBody(result)
    made: Any = None
    added = content.adder(made, lambda _told: ({}, None), dict)

    class Stream:
        def __iter__(self) -> Iterator[bytes]:
            for piece in [LARGE] if whole else content.stream:
                added.add(piece)
                yield piece

    content.put(Stream())
    assert b"".join(result["body"].iter_chunks(1024)) == LARGE


def test_a_buffer_gives_what_came_in_order() -> None:
    buffer = Buffer()
    buffer.add(b"abc")
    assert (buffer.take(2), len(buffer)) == (b"ab", 1)
    buffer.add(b"def")
    assert (buffer.take(9), len(buffer), buffer.take(1), buffer.take(None)) == (b"cdef", 0, b"", b"")
    buffer.add(b"g")
    assert (buffer.take(None), len(buffer)) == (b"g", 0)
