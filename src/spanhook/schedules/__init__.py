"""When agents run by the clock: ticks of cron expressions, and what becomes of each.

Everything here is a function of the time that it is given: nothing waits, and nothing is run. It knows no jobs.
"""

from spanhook.schedules.deciding import Decided, Execution, Passed, Reason, decide, ended, extended
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.schedule import Schedule
from spanhook.schedules.state import CronState, Running
from spanhook.schedules.ticking import Ticker

__all__ = [
    "CronEntry",
    "CronState",
    "Decided",
    "Execution",
    "Passed",
    "Reason",
    "Running",
    "Schedule",
    "Ticker",
    "decide",
    "ended",
    "extended",
]
