"""The page of a hook's dry runs: on a sample context, or on an operation of a run that was recorded."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from spanhook.server.hook_store import FOR_ALL
from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.forms import Fields, Form
from spanhook.server.pages.parameters import Filter
from spanhook.server.pages.rendering import render
from spanhook.server.problems import Problem
from spanhook.server.routes.dry_run_models import HookTest, HookTested
from spanhook.server.routes.hook_models import Hook
from spanhook.server.routes.hooks import HookId, get_hook, test_hook
from spanhook.server.routes.recorded import kind_of
from spanhook.server.routes.run_models import RunSummary, Span
from spanhook.server.routes.runs import get_run, list_runs
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/hooks", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Manager = Annotated[Principal, Depends(Needs("hooks:manage"))]
_MENDABLE = ("invalid", "not_found", "too_many_dry_runs", "scope_missing", "handler_not_allowed")
_RUNS, _SPANS = 30, 200
_SAMPLES: dict[str, dict[str, Any]] = {
    "llm.call": {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}],
    },
    "tool.execute": {"name": "refund", "arguments": {"amount": 60}},
    "agent.invoke": {"name": "support-desk", "inputs": "Refund order 7"},
    "retrieval.query": {"name": "articles", "inputs": "refunds"},
}


@router.get("/{hook_id}/test")
async def ask_for_context(
    request: Request, hook_id: HookId, principal: Manager, services: Serving, run: Filter = "", span: Filter = ""
) -> Response:
    """Write a sample context, or choose a run and an operation in it."""
    found = await _hook(hook_id, principal, services)
    return await _page(request, services, found, run=run, span=span)


@router.post("/{hook_id}/test")
async def try_hook(request: Request, hook_id: HookId, principal: Manager, services: Serving, form: Form) -> Response:
    """Run the hook once."""
    found = await _hook(hook_id, principal, services)
    run, span, sample = form.get("run", ""), form.get("span", ""), form.get("sample")
    try:
        tested = await test_hook(hook_id, _given(form), principal, services)
    except Problem as problem:
        if problem.code not in _MENDABLE:
            raise
        status, said = problem.status, problem.detail
        return await _page(request, services, found, run=run, span=span, sample=sample, error=said, status=status)
    return await _page(request, services, found, run=run, span=span, sample=sample, tested=tested)


def _given(form: Fields) -> HookTest:
    fields: dict[str, Any] = {"run": form.get("run", "").strip(), "span": form.get("span", "").strip()}
    if not fields["run"]:
        try:
            fields["sample_context"] = json.loads(form.get("sample", "") or "{}")
        except (ValueError, RecursionError) as error:
            raise Problem("invalid", f"the context is no JSON: {error}") from None
    try:
        return HookTest.model_validate(fields)
    except ValidationError:
        raise Problem(
            "invalid", "choose an operation of the run" if fields["run"] else "the context has to be a JSON object"
        ) from None


async def _hook(hook_id: str, principal: Principal, services: Services) -> Hook:
    found = await get_hook(hook_id, principal, services)
    if not isinstance(found, Hook):
        raise Problem("scope_missing", FOR_ALL)
    return found


async def _page(
    request: Request,
    services: Services,
    found: Hook,
    *,
    run: str,
    span: str,
    sample: str | None = None,
    tested: HookTested | None = None,
    error: str = "",
    status: int = 200,
) -> Response:
    principal: Principal = request.state.principal
    kind = kind_of(found.event_type)
    runs, spans = list[RunSummary](), list[Span]()
    if principal.may("runs:read"):
        runs = (await list_runs(principal, services, limit=_RUNS)).runs
        spans = await _spans(run, kind, principal, services)
    return render(
        request.scope,
        "dry_run.html",
        status=status,
        hook=found,
        kind=kind,
        runs=runs,
        spans=spans,
        run=run,
        span=span,
        sample=json.dumps(_SAMPLES.get(kind, {"name": ""}), indent=2) if sample is None else sample,
        tested=tested,
        error=error,
    )


async def _spans(run: str, kind: str, principal: Principal, services: Services) -> list[Span]:
    """The operations of a run that the hook could run on; none if there is no such run."""
    if not run:
        return []
    try:
        found = await get_run(run, principal, services)
    except Problem:
        return []
    return [one for one in found.spans if one.kind == kind][:_SPANS]
