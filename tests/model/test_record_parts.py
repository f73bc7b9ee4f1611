"""Parts of a record: made once, by whichever thread writes first."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry.context import Context

from spanhook.model import NOBODY, Record
from spanhook.model.record_parts import (
    NO_CALLS,
    NO_STREAM,
    NOT_LOOKING,
    Deferred,
    EndDetails,
    HookDecisions,
    InnerCalls,
    Looking,
    RecordPart,
    Shared,
    StreamState,
)
from tests.stub import WHOLE

THREADS = 8


def made() -> Record:
    return Record(WHOLE, {}, None, (), {}, None, NOBODY, Context(), 1)


PARTS = (HookDecisions, Shared, EndDetails, Deferred, StreamState, InnerCalls, Looking)


@pytest.mark.parametrize("kind", PARTS)
def test_threads_that_write_at_once_get_the_same_part(kind: type[RecordPart]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(200):
            op, together = made(), threading.Barrier(THREADS)

            def write(op: Record = op, together: threading.Barrier = together) -> Any:
                together.wait()
                return op.part(kind)

            parts = list(pool.map(lambda write: write(), [write] * THREADS))
            assert len(set(map(id, parts))) == 1
            assert parts[0] is op.part(kind) is getattr(op, kind.name)


def test_what_is_written_is_read_there_and_nowhere_else() -> None:
    op, other = made(), made()
    op.part(StreamState).first_chunk_ns = 5
    op.part(InnerCalls).transported = True
    assert (op.stream.first_chunk_ns, op.inner.transported) == (5, True)
    assert (other.stream, other.inner) == (NO_STREAM, NO_CALLS)
    assert (other.stream.first_chunk_ns, other.inner.transported) == (0, False)


@pytest.mark.parametrize(("part", "name"), [(NO_STREAM, "streamed"), (NO_CALLS, "transported"), (NOT_LOOKING, "later")])
def test_what_stands_in_for_a_part_cannot_be_written(part: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} belongs to a part of the record that has not been made"):
        setattr(part, name, True)
    assert not getattr(part, name)
