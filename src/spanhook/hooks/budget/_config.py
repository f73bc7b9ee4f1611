"""The settings of a budget."""

from collections.abc import Iterator
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.store import LEASE_S, MOST, Expired

Per = Literal["run", "session", "user", "tenant", "all"]
Window = Literal["hour", "day", "month", "total"]
Unpriced = Literal["refuse", "count", "allow"]
Missing = Literal["share", "refuse"]


class Config(SettingsModel):
    """Settings of ``budget``."""

    per: Annotated[Per, Looser(("all", "tenant", "user", "session", "run"))] = Field(
        default="run", description="Whose budget it is: each run's, session's, user's or tenant's, or one for all."
    )
    window: Annotated[Window, Looser(("total", "month", "day", "hour"))] = Field(
        default="total", description="The period after which it starts anew; total: never."
    )
    time_zone: str = Field(default="UTC", description="The time zone of days and months, such as Europe/Berlin.")
    tokens: int | None = Field(default=None, gt=0, le=MOST, description="The most tokens, input and output together.")
    usd: float | None = Field(default=None, gt=0, le=9_000_000, description="The most money, in US dollars.")
    unpriced: Annotated[Unpriced, Looser(("refuse", "count", "allow"))] = Field(
        default="refuse",
        description="Models without a known price, where usd is set. count: their tokens count; allow: they do not.",
    )
    output_tokens: Annotated[int, Looser("lower")] = Field(
        default=1000, gt=0, le=10**9, description="Tokens to reserve for an answer if the request does not limit it."
    )
    missing: Annotated[Missing, Looser(("refuse", "share"))] = Field(
        default="share",
        description="If the run, session, user or tenant is unknown. share: all of these have one budget together.",
    )
    reason: str = Field(default="", max_length=1000, description="The reason that the caller gets.")
    status_code: Annotated[int, NEUTRAL] = Field(
        default=429, ge=400, le=599, description="The HTTP status of a refusal."
    )
    scope: Annotated[Literal["operation", "run"], Looser(("run", "operation"))] = Field(
        default="operation", description="What is refused: this call, or also everything else in its run."
    )
    lease: Annotated[float, NEUTRAL] = Field(
        default=LEASE_S,
        ge=1,
        le=86400,
        description="Redis: seconds after which a reservation expires that its process has not renewed.",
    )
    expired: Annotated[Expired, Looser(("count", "free"))] = Field(
        default="count",
        description="Redis: an expired reservation counts as spent until its process reports what was used (count), "
        "or others may spend it (free).",
    )
    store: str = Field(
        default="memory://",
        description="Where it is kept: memory://, sqlite:///FILE or redis://HOST, or the name of a store.",
        json_schema_extra={"spanhook_store": "counters"},
    )

    @field_validator("time_zone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError(
                f"{name!r} is not a known time zone; write one like Europe/Berlin, and install tzdata if there are none"
            ) from None
        return name

    def conflicts(self) -> Iterator[Conflict]:
        if self.tokens is None and self.usd is None:
            yield Conflict("it has no limit; set tokens or usd", ("tokens", "usd"))
        elif self.unpriced == "count" and self.tokens is None:
            message = "unpriced: count needs tokens, which limits models without a price"
            yield Conflict(message, ("tokens", "unpriced"))
        if self.per == "run" and self.window != "total":
            message = f"per: run has the budget of one run; remove window: {self.window}"
            yield Conflict(message, ("per", "window"))
