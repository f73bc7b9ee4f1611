"""How far the end of an operation has come: it ends once and is reported once, whoever does it.

An interrupt may stop that code anywhere. So each step is marked here when it is done, and whoever resumes skips the
marked steps.
"""

from collections.abc import Callable
from itertools import count


class End:
    """The end of one operation, step by step.

    It has no ``__init__``: a record sets these itself, because every operation would pay for the call.

    Attributes:
        endings: Gives 0 to the first caller, which then ends the operation.
        ended: The end is complete, or was interrupted. From then on it is never the current operation, whatever the
            context says.
        end_ns, end_time_ns: When it ended, on the monotonic clock, and since the epoch if its span is ended later; 0
            and ``None`` before.
        handed: Ending or reporting it was handed to the reaper or to a separate task.
        reported: Everything about it has been reported.
        resumed: An interrupt stopped its end, and other code resumes it.
        attempts: Called with its outcome, for refusals inside it that may not have held.
        accounted: Its usage has been counted, or need not be.
        published: Subscriptions have been notified.
        summed: Its decisions have been added to the run's.
        recorded: How far it has been recorded: 1 once its span has its attributes, 2 once its histograms have it, and 1
            more for each listener.
        marked, emitted: How many of its decisions its span has, and how many of its events have been emitted.
    """

    __slots__ = (
        "__dict__",
        "accounted",
        "end_ns",
        "ended",
        "endings",
        "recorded",
        "reported",
    )

    attempts: "list[Callable[[BaseException | None], None]] | None" = None
    endings: "count[int]"
    ended: bool
    end_ns: int
    end_time_ns: int | None = None
    handed = False
    reported: bool
    resumed = False
    accounted: bool
    published = False
    recorded: int
    summed = False
    marked = emitted = 0

    def ends_again(self) -> None:
        """Note that its end was interrupted and is resumed by other code."""
        self.resumed, self.ended = True, False
        self.endings = count()
