"""An entry under ``cron`` in a configuration file."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from spanhook.errors import ConfigurationError
from spanhook.schedules.schedule import Schedule


class CronEntry(BaseModel):
    """An agent that runs by the clock."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100, description="Its name; unique.")
    schedule: str = Field(description="A cron expression of five fields, such as 0 9 * * MON-FRI.")
    time_zone: str = Field(default="UTC", description="The time zone of the schedule, such as Europe/Berlin.")
    agent: str = Field(min_length=1, description="The agent that is run, by its name.")
    input: Any = Field(default=None, description="What the agent is given.")
    tenant_id: str = Field(default="", max_length=200, description="The tenant that it is run for; empty for nobody's.")
    session_id: str = Field(default="", max_length=200, description="The conversation; a graph's thread.")
    enabled: bool = Field(default=True, description="Whether it runs.")
    missed: Literal["skip", "latest", "all"] = Field(
        default="skip",
        description="What happens to ticks that came while nothing was running to see them: none is run, the latest "
        "is, or all are, one after the other.",
    )
    overlap: Literal["skip", "wait", "allow"] = Field(
        default="skip",
        description="What happens to a tick that comes while an earlier run is under way: it is skipped, it waits for "
        "its end (the latest one only), or it is run at the same time.",
    )
    grace: float = Field(
        default=60.0, ge=1, le=86400, description="Seconds after which a tick that was not run counts as missed."
    )

    @field_validator("schedule")
    @classmethod
    def _comes(cls, given: str) -> str:
        return _checked(given, "schedule", lambda: Schedule(given))

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, given: str) -> str:
        return _checked(given, "time_zone", lambda: Schedule("* * * * *", given))

    def times(self) -> Schedule:
        """Its ticks."""
        return Schedule(self.schedule, self.time_zone)


def _checked(given: str, name: str, made: Callable[[], Schedule]) -> str:
    try:
        made()
    except ConfigurationError as error:
        raise ValueError(str(error).removeprefix(f"{name}={given!r}").lstrip(": ")) from error
    return given
