"""What a library's adapters may ask of the process around them: the settings in force, the time.

They know nothing of telemetry or clocks otherwise.
"""

from spanhook.model import clock
from spanhook.settings import Settings
from spanhook.telemetry import telemetry


def settings() -> Settings:
    """The settings in force."""
    return telemetry.settings


def seconds() -> int:
    """The time, as answers of servers tell it: in seconds since 1970."""
    return clock.wall() // 10**9
