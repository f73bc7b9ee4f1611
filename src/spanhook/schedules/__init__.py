"""When agents run by the clock: ticks of cron expressions, what becomes of each, and running them. It knows no jobs.

The ticks are functions of the time that they are given; only ``Scheduler`` waits. It needs the extra ``cron``.
"""

from spanhook.schedules._calling import calling
from spanhook.schedules.deciding import Decided, Execution, Passed, decide, ended, extended
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.executing import LostError, Outcome, execute
from spanhook.schedules.schedule import Schedule
from spanhook.schedules.scheduler import Made, Scheduler, Work
from spanhook.schedules.state import CronState, Fate, Past, Reason, Running
from spanhook.schedules.ticking import LEASE_S, Ticker

__all__ = [
    "LEASE_S",
    "CronEntry",
    "CronState",
    "Decided",
    "Execution",
    "Fate",
    "LostError",
    "Made",
    "Outcome",
    "Passed",
    "Past",
    "Reason",
    "Running",
    "Schedule",
    "Scheduler",
    "Ticker",
    "Work",
    "calling",
    "decide",
    "ended",
    "execute",
    "extended",
]
