"""The pages of jobs: those that a filter lets through, and one with what happens in it."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Request, Response

from spanhook.jobs import FINAL, STATUSES, JobEvent, JobStatus
from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.forms import Form
from spanhook.server.pages.parameters import Cursor, Filter
from spanhook.server.pages.rendering import address, goes_to, render
from spanhook.server.problems import Problem
from spanhook.server.routes.job_models import JobView
from spanhook.server.routes.jobs import Id, cancel_job, delete_job, get_job, list_jobs
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/jobs", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("jobs:read"))]
Caller = Annotated[Principal, Depends(Needs("jobs:run"))]
MOST_EVENTS = 500


class Step(NamedTuple):
    """A line of what has happened: one event, or the text of several.

    Attributes:
        id: The event's number, the last one's of several.
        type: Its type.
        title: What it is about, in a few words.
        text: The text of the line; empty for none.
        data: All of its data; empty where that is only a text.
    """

    id: int
    type: str
    title: str
    text: str
    data: dict[str, Any]


@router.get("")
async def page(
    request: Request,
    principal: Reader,
    services: Serving,
    status: Filter = "",
    agent: Filter = "",
    cursor: Cursor = "",
) -> Response:
    """Jobs, the newest first."""
    found = await list_jobs(principal, services, _status(status), agent, cursor)
    return render(
        request.scope,
        "jobs.html",
        jobs=found.jobs,
        more=address(request, cursor=found.next_cursor) if found.next_cursor else "",
        first=address(request, cursor="") if cursor else "",
        given={"status": status, "agent": agent},
        filtered=bool(status or agent),
        statuses=STATUSES,
        agents=sorted(services.settings.agents),
        took=seconds_of,
        scheduled=bool(services.settings.cron),
        live="" if cursor else "/events/jobs",
    )


@router.get("/{job_id}")
async def job(request: Request, job_id: Id, principal: Reader, services: Serving) -> Response:
    """One job."""
    found = await get_job(job_id, principal, services)
    events = await services.runner.recorded(job_id, MOST_EVENTS)
    return render(
        request.scope,
        "job.html",
        job=found,
        steps=steps(events),
        missing=events[0].id - 1 if events else 0,
        finished=found.status in FINAL,
        may_run=principal.may("jobs:run"),
        took=seconds_of(found),
        live="" if found.status in FINAL else f"/events/jobs/{job_id}",
    )


@router.post("/{job_id}/cancel")
async def cancelled(job_id: Id, principal: Caller, services: Serving, _form: Form) -> Response:
    """Cancel a job."""
    await cancel_job(job_id, principal, services)
    return goes_to(f"/jobs/{job_id}")


@router.post("/{job_id}/delete")
async def deleted(job_id: Id, principal: Caller, services: Serving, _form: Form) -> Response:
    """Delete a finished job."""
    await delete_job(job_id, principal, services)
    return goes_to("/jobs")


def steps(events: Sequence[JobEvent]) -> list[Step]:
    """Events as lines; texts that follow each other are one."""
    found: list[Step] = []
    for event in events:
        data = dict(event.data)
        text = str(data.get("text", "")) if event.type == "text:delta" else ""
        if text and found and found[-1].type == event.type:
            found[-1] = found[-1]._replace(id=event.id, text=found[-1].text + text)
        elif event.type != "done":  # the page says it above
            found.append(Step(event.id, event.type, _title(event.type, data), text, {} if text else data))
    return found


def _title(type: str, data: dict[str, Any]) -> str:
    named = {
        "status": ("status",),
        "tool:call": ("tool",),
        "tool:result": ("tool", "status"),
        "approval:waiting": ("tool", "title"),
        "usage": ("model",),
    }
    if type == "agent:delegate":
        return f"{data.get('from')} to {data.get('to')}"
    return " \u00b7 ".join(str(data[name]) for name in named.get(type, ()) if data.get(name))


def seconds_of(job: JobView) -> float | None:
    """How long a job took; ``None`` while it has not ended."""
    return None if job.ended_at is None else (job.ended_at - (job.started_at or job.ended_at)).total_seconds()


def _status(given: str) -> JobStatus | None:
    for one in STATUSES:
        if one == given:
            return one
    if given:
        raise Problem("invalid", f"status is {given!r}; expected one of {', '.join(STATUSES)}")
    return None
