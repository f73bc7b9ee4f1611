"""The settings of a circuit breaker."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel

ClassName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
StatusCode = Annotated[int, Field(ge=400, le=599)]


class Config(SettingsModel):
    """Settings of ``circuit_breaker``."""

    failures: int | None = Field(
        default=5, ge=1, le=1_000_000, description="Open after so many failures in a row; null: never."
    )
    failure_rate: float | None = Field(
        default=None, gt=0, le=1, description="Open if this share of the calls of the window has failed, such as 0.5."
    )
    window: Annotated[float, NEUTRAL] = Field(
        default=60, ge=1, le=86400, description="Seconds that failure_rate looks back."
    )
    min_calls: int = Field(
        default=20, ge=1, le=1_000_000, description="Calls in the window below which failure_rate does not apply."
    )
    open_for: Annotated[float, Looser("lower")] = Field(
        default=30, gt=0, le=86400, description="Seconds for which calls are refused."
    )
    probes: Annotated[int, Looser("lower")] = Field(
        default=1, ge=1, le=1000, description="Calls that must succeed after that before all are let through again."
    )
    per: Annotated[Literal["model", "provider"], NEUTRAL] = Field(
        default="model", description="What fails together: each model, or all models of a provider. Tools are apart."
    )
    per_tenant: Annotated[bool, NEUTRAL] = Field(
        default=False, description="Whether tenants are apart, such as with keys of their own."
    )
    status_codes: list[StatusCode] = Field(
        default=[408, 429], description="Statuses below 500 that are failures; those from 500 on always are."
    )
    ignore: Annotated[list[ClassName], Looser("more")] = Field(
        default=["TypeError", "ValueError"],
        description="Classes of exceptions that are no failures, nor are their subclasses.",
    )
    reason: str = Field(default="", max_length=1000, description="The reason that the caller gets.")
    status_code: Annotated[int, NEUTRAL] = Field(
        default=503, ge=400, le=599, description="The HTTP status of a refusal."
    )
    scope: Annotated[Literal["operation", "run"], Looser(("run", "operation"))] = Field(
        default="operation", description="What is refused: this call, or also everything else in its run."
    )

    def conflicts(self) -> Iterator[Conflict]:
        if self.failures is None and self.failure_rate is None:
            yield Conflict("it would never open; set failures or failure_rate", ("failures", "failure_rate"))
