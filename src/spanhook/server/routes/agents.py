"""``/v1/agents``: which there are, and running them, while the caller waits or as jobs."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from opentelemetry.propagate import extract, inject
from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from spanhook.errors import Reject
from spanhook.jobs import FullError, Job, JobEvent, Journal, NoAgentError, QueueError, new_job
from spanhook.server.connected import GoneError, while_connected
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, ON_CHANGES, Problem, documented, unavailable
from spanhook.server.routes.job_models import AgentList, AgentView, JobView, RunOutput, RunRequest
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/v1/agents", tags=["jobs"])

Serving = Annotated[Services, Depends(services_of)]
Caller = Annotated[Principal, Depends(Needs("jobs:run"))]
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=255)]
_CODES = (*ALWAYS, *ON_CHANGES, "not_found", "key_reused", "too_many_jobs", "run_failed")


@router.get("", responses=documented(*ALWAYS))
async def list_agents(_principal: Caller, services: Serving) -> AgentList:
    """List the agents that are served."""
    return AgentList(agents=[AgentView(name=name) for name in services.runner.agents])


@router.post(
    "/{name}",
    response_model=RunOutput,
    responses={202: {"model": JobView, "description": "A job was made."}, **documented(*_CODES)},
)
async def run_agent(
    name: Annotated[str, Path(max_length=100)],
    given: RunRequest,
    request: Request,
    principal: Caller,
    services: Serving,
    in_background: Annotated[bool, Query(alias="async", description="Whether to make a job of it.")] = False,
    key: Key = "",
) -> Response:
    """Run an agent: answers with its output, with a stream of events if one is accepted, or with a job."""
    job = _asked(name, given, request, principal, key)
    try:
        services.runner.agent(name)
        if in_background:
            return await _submitted(services, job)
        if "text/event-stream" in request.headers.get("accept", ""):
            return await _streamed(services, job, request)
        outcome = await while_connected(request, services.runner.call(job))
    except NoAgentError as error:
        raise Problem("not_found", str(error)) from None
    except FullError as error:
        raise Problem("too_many_jobs", str(error), headers={"Retry-After": "5"}) from None
    except GoneError:
        return Response(status_code=499)  # nobody reads it
    _check(outcome.error)
    return Response(RunOutput(output=outcome.result).model_dump_json(), media_type="application/json")


def _asked(name: str, given: RunRequest, request: Request, principal: Principal, key: str) -> Job:
    told = json.dumps(given.model_dump(), sort_keys=True).encode()
    job = new_job(
        name,
        given.input,
        tenant_id=principal.tenant,
        user_id=principal.subject,
        session_id=given.session_id,
        key=key,
        digest=hashlib.sha256(told).hexdigest(),
    )
    if not job.trace:  # no span is current: the caller's is the one that it belongs to
        inject(job.trace, extract(request.headers))  # type: ignore[arg-type]
    return job


async def _submitted(services: Services, job: Job) -> Response:
    try:
        kept = await services.runner.submit(job)
    except QueueError as error:  # there is no job
        raise unavailable(error, "the queue of jobs") from None
    if kept.digest != job.digest:
        raise Problem("key_reused", "Idempotency-Key was used for another request; choose another")
    headers = {"Location": f"/v1/jobs/{kept.job_id}"}
    return Response(JobView.of(kept).model_dump_json(), 202, headers=headers, media_type="application/json")


async def _streamed(services: Services, job: Job, request: Request) -> Response:
    """The events of a run. The response begins with the first of them, so that a refusal has its own status."""
    journal = Journal(time.time_ns)

    async def work() -> BaseException | None:
        try:
            outcome = await services.runner.call(job, journal.publish)
            error, told = outcome.error, {"output": outcome.result, "usage": outcome.usage, "tools": [*outcome.tools]}
        except Exception as raised:
            error, told = raised, {}
        if isinstance(error, Reject):
            refused = {"status_code": error.status_code, "error": error.reason}
            told = {"status": "failed", "error_type": "Reject", **refused}
        elif error is not None:
            told = {"status": "failed", "error_type": type(error).__name__}
        else:
            told = {"status": "completed", **told}
        journal.publish("done", told)
        return error

    task, events = asyncio.create_task(work()), journal.read()
    try:
        first = await while_connected(request, _next(events))
        if first.type == "done" and isinstance(error := await task, Reject | FullError):
            raise error
    except BaseException:
        task.cancel()
        raise
    stream = _Stream(_passed_on(first, events), ping=15)
    stream.work = task
    return stream


async def _next(events: AsyncGenerator[JobEvent]) -> JobEvent:
    return await anext(events)


async def _passed_on(first: JobEvent, events: AsyncGenerator[JobEvent]) -> AsyncGenerator[Any]:
    yield _sent(first)
    async for event in events:
        yield _sent(event)


def _sent(event: JobEvent) -> dict[str, str]:
    return {"id": str(event.id), "event": event.type, "data": json.dumps(event.data, default=str)}


class _Stream(EventSourceResponse):
    """A response whose work ends with it."""

    work: "asyncio.Task[Any]"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.work.cancel()  # whoever has asked is gone


def _check(error: BaseException | None) -> None:
    if error is None:
        return
    if isinstance(error, Reject):
        raise error
    raise Problem("run_failed", f"the agent has failed: {type(error).__name__}")
