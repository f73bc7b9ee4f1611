"""Which exceptions code handles that somebody has stopped waiting for: in ``except``, ``finally`` or ``with``.

Such code may go on for as long as it likes, so nobody can wait for what it raises in the end.
"""

import gc
import sys
from collections import Counter
from types import FrameType
from typing import Any

_DEEPEST = 2_000


def handled_in(thread: int) -> BaseException | None:
    """The exception that a thread handles now, innermost; earlier ones are its ``__context__``."""
    active: Any = sys._current_exceptions().get(thread)
    return active[1] if sys.version_info < (3, 12) and active else active


def handled_by(coroutine: Any) -> BaseException | None:
    """The same for a suspended coroutine and what it awaits."""
    innermost = None
    for _ in range(_DEEPEST):
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        innermost = _handled_in_frame(coroutine, frame) or innermost
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return innermost


def _handled_in_frame(coroutine: Any, frame: FrameType) -> BaseException | None:
    # The interpreter keeps what is handled with the coroutine, beside the values of its variables and behind them.
    referents = [one for one in gc.get_referents(coroutine) if isinstance(one, BaseException)]
    counts = Counter(map(id, referents))
    in_cells = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
    counts.subtract(id(value) for name, value in frame.f_locals.items() if name not in in_cells)
    return next((one for one in reversed(referents) if counts[id(one)] > 0), None)
