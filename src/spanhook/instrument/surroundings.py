"""What adapters may ask of their process: the active settings and the time.

Otherwise they know nothing of telemetry or clocks.
"""

from spanhook.model import clock
from spanhook.settings import Settings
from spanhook.telemetry import telemetry


def settings() -> Settings:
    """The active settings."""
    return telemetry.settings


def requests_usage() -> bool:
    """Whether streams are asked for their usage."""
    requested = telemetry.settings.stream_usage
    return telemetry.usage_is_limited if requested is None else requested


def seconds() -> int:
    """The time in seconds since 1970, as in servers' answers."""
    return clock.wall() // 10**9
