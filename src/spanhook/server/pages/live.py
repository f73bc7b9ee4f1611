"""Server-sent events that tell a page that what it shows has changed. The page then loads itself again.

A stream ends after a while, and the browser asks for another: so it outlives neither a session nor a revoked key.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel
from sse_starlette import EventSourceResponse

from spanhook.errors import StoreError
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import Problem
from spanhook.server.routes.approvals import list_approvals
from spanhook.server.routes.hooks import list_hooks, statistics
from spanhook.server.routes.jobs import Id, get_job, list_jobs
from spanhook.server.routes.runs import get_usage, list_decisions, list_runs
from spanhook.server.routes.schedules import list_schedules
from spanhook.server.routes.sync import list_processes
from spanhook.server.routes.webhooks import WebhookId, get_webhook, list_deliveries, list_webhooks, webhooks_of
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/events", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Manager = Annotated[Principal, Depends(Needs("webhooks:manage"))]
EVERY_S, LASTS_S = 2.0, 120.0
"""How often it is looked, and how long a stream lasts, in seconds."""
MOST_STREAMS, MOST_OF_ONE = 200, 50
"""How many pages may be live at a time: all, and those of one tenant or of the operators."""
_NEWEST = 20
Read = Callable[[], Awaitable[list[BaseModel]]]


@router.get("/runs")
async def of_runs(principal: Annotated[Principal, Depends(Needs("runs:read"))], services: Serving) -> Response:
    """Runs and decisions."""

    async def read() -> list[BaseModel]:
        return [
            await list_runs(principal, services, limit=_NEWEST),
            await list_decisions(principal, services, limit=_NEWEST),
        ]

    return _stream(principal, services, read)


@router.get("/usage")
async def of_usage(principal: Annotated[Principal, Depends(Needs("usage:read"))], services: Serving) -> Response:
    """Tokens and cost."""

    async def read() -> list[BaseModel]:
        return [await get_usage(principal, services, by=[])]

    return _stream(principal, services, read)


@router.get("/hooks")
async def of_hooks(principal: Annotated[Principal, Depends(Needs("hooks:read"))], services: Serving) -> Response:
    """Definitions and their statistics, and what processes have."""

    async def read() -> list[BaseModel]:
        processes = (await list_processes(principal, services, limit=200)).processes
        there = sorted(processes, key=lambda one: (one.first_seen, one.host, one.pid))
        same = [one.model_copy(update={"last_seen": one.first_seen}) for one in there]  # they report all the time
        return [await list_hooks(principal, services, limit=200), await statistics(principal, services), *same]

    return _stream(principal, services, read)


@router.get("/approvals")
async def of_approvals(
    principal: Annotated[Principal, Depends(Needs("approvals:decide"))], services: Serving
) -> Response:
    """Requests for approval that are open."""

    async def read() -> list[BaseModel]:
        return [await list_approvals(principal, services)]

    return _stream(principal, services, read)


@router.get("/jobs")
async def of_jobs(principal: Annotated[Principal, Depends(Needs("jobs:read"))], services: Serving) -> Response:
    """Jobs."""

    async def read() -> list[BaseModel]:
        return [await list_jobs(principal, services, limit=_NEWEST)]

    return _stream(principal, services, read)


@router.get("/jobs/{job_id}")
async def of_job(
    job_id: Id, principal: Annotated[Principal, Depends(Needs("jobs:read"))], services: Serving
) -> Response:
    """One job, and what happens in it."""
    await get_job(job_id, principal, services)

    async def read() -> list[BaseModel]:
        last = [_Number(number=one.id) for one in await services.runner.recorded(job_id, 1)]
        return [await get_job(job_id, principal, services), *last]

    return _stream(principal, services, read)


@router.get("/schedules")
async def of_schedules(principal: Annotated[Principal, Depends(Needs("jobs:read"))], services: Serving) -> Response:
    """Schedules: what runs, what waits, and what became of the last ticks."""

    async def read() -> list[BaseModel]:
        return [await list_schedules(principal, services)]

    return _stream(principal, services, read)


@router.get("/webhooks")
async def of_webhooks(principal: Manager, services: Serving) -> Response:
    """Endpoints."""
    webhooks = webhooks_of(services)

    async def read() -> list[BaseModel]:
        return [await list_webhooks(principal, webhooks)]

    return _stream(principal, services, read)


@router.get("/webhooks/{webhook_id}")
async def of_webhook(webhook_id: WebhookId, principal: Manager, services: Serving) -> Response:
    """One endpoint, and its deliveries."""
    webhooks = webhooks_of(services)
    await get_webhook(webhook_id, principal, webhooks)  # rather than a stream that ends at once

    async def read() -> list[BaseModel]:
        deliveries = await list_deliveries(webhook_id, principal, webhooks, limit=_NEWEST)
        return [await get_webhook(webhook_id, principal, webhooks), deliveries]

    return _stream(principal, services, read)


class _Number(BaseModel):
    number: int


def _stream(principal: Principal, services: Services, read: Read) -> EventSourceResponse:
    if services.streams.total() >= MOST_STREAMS or services.streams[principal.tenant] >= MOST_OF_ONE:
        raise Problem("rate_limited", "too many pages are live at a time", headers={"Retry-After": "30"})
    return EventSourceResponse(_events(principal.tenant, services, read), ping=30)


async def _events(tenant: str, services: Services, read: Read) -> AsyncGenerator[dict[str, Any]]:
    services.streams[tenant] += 1
    try:
        seen = await _digest(read)
        yield {"event": "ready", "data": "now", "retry": 3000}
        for _ in range(round(LASTS_S / EVERY_S)):
            await asyncio.sleep(EVERY_S)
            now = await _digest(read)
            if now != seen:
                seen = now
                yield {"event": "change", "data": "now"}
    except (StoreError, Problem):
        return  # the browser asks again
    finally:
        services.streams[tenant] -= 1
        services.streams += Counter()  # those that have none are left out


async def _digest(read: Read) -> bytes:
    shown = "\n".join([one.model_dump_json() for one in await read()])
    return hashlib.blake2b(shown.encode("utf-8", "surrogatepass")).digest()
