"""``/v1/schedules``: which agents run by the clock, when, and what became of the last runs."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from spanhook.schedules import CronEntry, CronState, Fate, Past
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, Problem, documented
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/v1/schedules", tags=["jobs"])

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("jobs:read"))]


class TickView(BaseModel):
    """A tick that is over."""

    scheduled_at: datetime = Field(description="The time that it was for.")
    status: Fate = Field(description="What became of it. missed, overlapping: it was not run; lost: its process died.")
    known_at: datetime
    execution_id: str
    job_id: str
    error: str = Field(description="The name of the exception, or the reason of a refusal.")

    @classmethod
    def of(cls, past: Past) -> "TickView":
        """What is shown of a tick."""
        return cls(
            scheduled_at=past.tick,
            status=past.fate,
            known_at=past.at,
            execution_id=past.execution_id,
            job_id=past.job_id,
            error=past.error,
        )


class RunningView(BaseModel):
    """An execution under way."""

    scheduled_at: datetime
    execution_id: str


class ScheduleView(BaseModel):
    """A schedule."""

    id: str
    schedule: str
    time_zone: str
    agent: str
    tenant_id: str
    session_id: str
    enabled: bool
    missed: str
    overlap: str
    grace: float
    input: Any
    next_at: datetime | None = Field(description="When it comes next; null if it is not enabled, or never comes.")
    running: list[RunningView]
    waiting: list[datetime] = Field(description="Ticks that wait for the end of an earlier run.")
    recent: list[TickView] = Field(description="The latest ticks that are over, the last one first.")

    @classmethod
    def of(cls, entry: CronEntry, state: CronState | None, next_at: datetime | None) -> "ScheduleView":
        """What is shown of a schedule."""
        running = () if state is None else state.running
        return cls(
            **entry.model_dump(),
            next_at=next_at,
            running=[RunningView(scheduled_at=one.tick, execution_id=one.execution_id) for one in running],
            waiting=[] if state is None else [*state.waiting],
            recent=[] if state is None else [TickView.of(one) for one in reversed(state.recent)],
        )


class ScheduleList(BaseModel):
    """All schedules."""

    schedules: list[ScheduleView]


@router.get("", responses=documented(*ALWAYS))
async def list_schedules(principal: Reader, services: Serving) -> ScheduleList:
    """List the schedules of the caller's tenant; for an operator, those of all."""
    return ScheduleList(schedules=await _visible(principal, services))


@router.get("/{schedule_id}", responses=documented(*ALWAYS, "not_found"))
async def get_schedule(
    schedule_id: Annotated[str, Path(min_length=1, max_length=100)], principal: Reader, services: Serving
) -> ScheduleView:
    """One schedule."""
    for one in await _visible(principal, services):
        if one.id == schedule_id:
            return one
    raise Problem("not_found", f"there is no schedule {schedule_id!r} here")


async def _visible(principal: Principal, services: Services) -> list[ScheduleView]:
    found = await services.scheduler.known()
    return [ScheduleView.of(*one) for one in found if principal.operator or one[0].tenant_id == principal.tenant]
