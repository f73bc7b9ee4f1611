"""How far an operation has got with its end: it ends once, whoever sees to that, and is told of once.

An interrupt may stop whoever does, at any place. So all that is told is marked here as it is told, and whoever goes on
with it leaves out what is marked.
"""

from collections.abc import Callable
from itertools import count


class End:
    """The end of one operation, as far as it has come.

    Attributes:
        endings: Gives 0 to the first who asks, which is who ends it.
        ended: Nobody sees it through any more: it has come to its end, or whoever did was interrupted. From then on
            it is nobody's current operation, whatever stands there.
        end_ns, end_time_ns: When it ended, on the clock that only goes forward, and since the epoch where its span is
            ended later; 0 and ``None`` before.
        handed: Somebody else is about to end it or to tell of it: the reaper, or a task of its own.
        reported: Nothing is left to be told of it.
        resumed: An interrupt stopped its end, and somebody else goes on with it.
        attempts: Told how it has ended, for refusals inside of it of which nobody knows whether they held.
        accounted: What it used has been counted, or need not be.
        published, heard: Subscriptions have been told, and so many listeners.
        summed: The run's decisions have those about it.
        described, marked: Its span says all there is to say, and so many decisions.
        measured, emitted: Its histograms have been recorded, and so many events.
    """

    __slots__ = (
        "accounted",
        "described",
        "end_ns",
        "end_time_ns",
        "ended",
        "endings",
        "handed",
        "heard",
        "measured",
        "published",
        "reported",
        "resumed",
    )

    attempts: "list[Callable[[BaseException | None], None]] | None" = None
    summed = False
    marked = emitted = 0

    def __init__(self) -> None:
        self.endings = count()
        self.ended = self.handed = self.reported = self.resumed = False
        self.end_ns = 0
        self.end_time_ns: int | None = None
        self.accounted = self.published = self.described = self.measured = False
        self.heard = 0

    def ends_again(self) -> None:
        """Its end was interrupted, and is gone on with by somebody else."""
        self.resumed, self.ended = True, False
        self.endings = count()
