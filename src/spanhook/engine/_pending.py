"""Operations that the reaper may have to end before what is around them: streams that their consumers may drop."""

from spanhook.concurrency import reaper
from spanhook.model import Record

MOST = 100
"""Among how many operations of a run those inside another one are searched."""


def leave_to_reaper(op: Record) -> None:
    """Let the reaper report the end of the run, because it may have to end ``op`` first."""
    op.run.__dict__.setdefault("pending", set()).add(op)


def take_from_reaper(op: Record) -> None:
    """Note that ``op`` ended by itself after all."""
    pending = op.run.pending
    if pending:
        pending.discard(op)


def await_end(op: Record) -> None:
    """Ensure that the reaper ends ``op``, which it was given, before it reports the enclosing run."""
    leave_to_reaper(op)
    reaper.start()


def is_around_others(op: Record) -> bool:
    """Whether some of these operations are inside this one, unless there are too many to look."""
    pending = tuple(op.run.pending)
    for inner in pending if len(pending) <= MOST else ():
        around = None if inner.ended else inner.parent
        while around is not None and around is not op:
            around = around.parent
        if around is op:
            return True
    return False
