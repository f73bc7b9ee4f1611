"""Operations that the reaper may have to end before it reports the run around them."""

from spanhook.concurrency import reaper
from spanhook.model import Record, RunState


def leave_to_reaper(op: Record) -> None:
    """Let the reaper report the end of the run, because it may have to end ``op`` first."""
    op.root.part(RunState).__dict__.setdefault("pending", set()).add(op)


def take_from_reaper(op: Record) -> None:
    """Note that ``op`` ended by itself after all."""
    pending = op.root.run.pending
    if pending:
        pending.discard(op)


def await_end(op: Record) -> None:
    """Ensure that the reaper ends ``op``, which it was given, before it reports the enclosing run."""
    leave_to_reaper(op)
    reaper.start()
