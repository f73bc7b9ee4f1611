"""``/v1/hooks``: definitions, what they did, and dry runs."""

from collections import Counter
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ValidationError

from spanhook.definitions import HookDefinition
from spanhook.errors import ConfigurationError
from spanhook.server.hook_store import sees_all_of
from spanhook.server.masking import unmasked
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, ON_CHANGES, Code, Problem, documented
from spanhook.server.routes.dry_run_models import HookTest, HookTested
from spanhook.server.routes.hook_models import (
    SWITCH,
    Execution,
    ExecutionPage,
    HistoryPage,
    Hook,
    HookChange,
    HookChanges,
    HookFigures,
    HookPage,
    HookResult,
    HookStatistics,
    NewHook,
    Switch,
    SystemHook,
)
from spanhook.server.routes.recorded import kind_of, recorded
from spanhook.server.scopes import Principal
from spanhook.server.services import Services
from spanhook.server.stored_hooks import StoredHook
from spanhook.store.control import executions_page, find_execution, hook_figures

router = APIRouter(prefix="/v1/hooks", tags=["hooks"])

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("hooks:read"))]
Manager = Annotated[Principal, Depends(Needs("hooks:manage"))]
HookId = Annotated[str, Path(min_length=1, max_length=200)]
Cursor = Annotated[str | None, Query(max_length=500, description="next_cursor of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
Filter = Annotated[str | None, Query(max_length=200)]

_NOT_SENT = cast("Switch", None)
_CHANGED: tuple[Code, ...] = (*ALWAYS, *ON_CHANGES, "not_found", "conflict")
_CHECKED: tuple[Code, ...] = (*_CHANGED, "too_many_hooks", "handler_not_allowed")


@router.post("", status_code=201, responses=documented(*_CHECKED))
async def create_hook(given: NewHook, principal: Manager, services: Serving) -> Hook:
    """Create a definition. Agents follow it soon."""
    fields = given.definition(principal.tenant)
    definition = _valid({**fields, "config": _secrets(fields.get("config", {}), {})})
    await services.handlers.check(principal, definition)
    return Hook.of(await services.hooks.create(principal, definition))


@router.get("", responses=documented(*ALWAYS))
async def list_hooks(
    principal: Reader,
    services: Serving,
    event: Filter = None,
    tenant: Filter = None,
    enabled: bool | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> HookPage:
    """List definitions: the tenant's own, and what tenants may know of those for all tenants."""
    found, more = await services.hooks.page(
        principal, event=event, tenant=tenant, enabled=enabled, cursor=cursor, limit=limit
    )
    return HookPage(hooks=[_view(principal, one) for one in found], next_cursor=more)


@router.get("/logs", responses=documented(*ALWAYS))
async def list_executions(
    principal: Reader, services: Serving, event: Filter = None, cursor: Cursor = None, limit: Limit = 100
) -> ExecutionPage:
    """List what hooks did, the newest first."""
    page = await executions_page(
        services.database, _tenant(principal), event_type=event or "", cursor=cursor or "", limit=limit
    )
    return ExecutionPage(logs=[Execution.of(entry) for _, entry in page.rows], next_cursor=page.cursor)


@router.get("/logs/{log_id}", responses=documented(*ALWAYS, "not_found"))
async def get_execution(log_id: HookId, principal: Reader, services: Serving) -> Execution:
    """One entry of the execution log."""
    entry = await find_execution(services.database, _tenant(principal), log_id)
    if entry is None:
        raise Problem("not_found", f"there is no entry {log_id!r} here")
    return Execution.of(entry)


@router.get("/stats", responses=documented(*ALWAYS))
async def statistics(principal: Reader, services: Serving) -> HookStatistics:
    """Statistics of hooks: which there are, how often they ran, failed and refused, and how long they took."""
    figures = await hook_figures(services.database, _tenant(principal))
    defined = await services.hooks.numbers(principal)
    in_code = await services.processes.active(principal)
    events = in_code + Counter({event: all_of for event, (all_of, _) in defined.items()})
    return HookStatistics(
        total_hooks=events.total(),
        total_definitions=sum(all_of for all_of, _ in defined.values()),
        by_event_type=dict(sorted(events.items())),
        event_types_active=sorted({*in_code, *(event for event, (_, enabled) in defined.items() if enabled)}),
        executions=sum(one.executions for one in figures),
        failures=sum(one.failures for one in figures),
        rejections=sum(one.rejections for one in figures),
        hooks=[
            HookFigures(
                hook_name=one.hook,
                event_type=one.event_type,
                executions=one.executions,
                failures=one.failures,
                rejections=one.rejections,
                p50_ms=one.p50_ms,
                p95_ms=one.p95_ms,
            )
            for one in figures
        ],
    )


@router.get("/{hook_id}", responses=documented(*ALWAYS, "not_found"))
async def get_hook(hook_id: HookId, principal: Reader, services: Serving) -> Hook | SystemHook:
    """One definition."""
    return _view(principal, await services.hooks.get(principal, hook_id))


@router.put("/{hook_id}", responses=documented(*_CHECKED))
async def update_hook(hook_id: HookId, given: HookChanges, principal: Manager, services: Serving) -> Hook:
    """Change some fields of a definition; the others stay."""
    before = await services.hooks.changeable(principal, hook_id)
    changes = given.model_dump(exclude_unset=True)
    if "config" in changes:
        changes["config"] = _secrets(changes["config"], before.definition.config)
    try:
        definition = before.definition.changed(**changes)
    except ValidationError as error:
        raise _wrong(error) from None
    await services.handlers.check(principal, definition)
    return Hook.of(await services.hooks.replace(principal, before, definition))


@router.delete("/{hook_id}", responses=documented(*_CHANGED))
async def delete_hook(hook_id: HookId, principal: Manager, services: Serving) -> Hook:
    """Delete a definition. The response is what was deleted."""
    return Hook.of(await services.hooks.delete(principal, hook_id))


@router.put("/{hook_id}/toggle", responses=documented(*_CHANGED), openapi_extra={"requestBody": {"required": True}})
async def toggle_hook(hook_id: HookId, principal: Manager, services: Serving, given: Switch = _NOT_SENT) -> Hook:
    """Enable or disable a definition. If it is so already, nothing changes."""
    if given is _NOT_SENT:
        raise Problem("invalid", f"body: {SWITCH}")
    return Hook.of(await services.hooks.enable(principal, hook_id, enabled=given.enabled))


@router.post("/{hook_id}/test", responses=documented(*_CHANGED, "too_many_dry_runs"))
async def test_hook(hook_id: HookId, given: HookTest, principal: Manager, services: Serving) -> HookTested:
    """Run a definition once on a sample context, or on a recorded operation, in a process of its own. Side effects of
    the handler are real.
    """
    stored = await services.hooks.changeable(principal, hook_id)
    sample, missing = await _sample(given, stored.definition, principal, services)
    outcome = await services.dry_runs.run(stored.definition, sample)
    try:
        results = [HookResult.model_validate(one) for one in outcome["results"]]
        return HookTested(
            result=results[-1] if results else None,
            results=results,
            context_after=outcome["context_after"],
            sample_context=sample,
            not_captured=missing,
        )
    except (ValidationError, KeyError, TypeError):
        raise Problem("invalid", "the hook's process has written something else than what a dry run comes to") from None


@router.get("/{hook_id}/history", responses=documented(*ALWAYS, "not_found"))
async def hook_history(
    hook_id: HookId, principal: Reader, services: Serving, cursor: Cursor = None, limit: Limit = 100
) -> HistoryPage:
    """What was done to a definition, the newest first; also to one that is deleted."""
    found, more = await services.hooks.history(principal, hook_id, cursor=cursor, limit=limit)
    return HistoryPage(changes=[HookChange.of(one) for one in found], next_cursor=more)


async def _sample(
    given: HookTest, definition: HookDefinition, principal: Principal, services: Services
) -> tuple[dict[str, Any], list[str]]:
    """What a dry run runs on, and what of it was not captured."""
    sample = given.sample_context or {}
    if not given.run:
        return sample, []
    if not principal.may("runs:read"):
        raise Problem("scope_missing", "dry runs on recorded operations need the scope runs:read, too")
    found = await recorded(services.database, _tenant(principal), given.run, given.span)
    kind = kind_of(definition.event_type)
    if found.kind != kind:
        raise Problem("invalid", f"the operation is of the kind {found.kind}, and the hook runs on {kind}")
    return {**found.sample, **sample}, [one for one in found.missing if one not in sample]


def _view(principal: Principal, stored: StoredHook) -> Hook | SystemHook:
    return Hook.of(stored) if sees_all_of(principal, stored.definition) else SystemHook.of(stored)


def _tenant(principal: Principal) -> str | None:
    return None if principal.operator else principal.tenant


def _valid(fields: dict[str, Any]) -> HookDefinition:
    try:
        return HookDefinition.model_validate(fields)
    except ValidationError as error:
        raise _wrong(error) from None


def _secrets(config: dict[str, Any], before: Any) -> Any:
    try:
        return unmasked(config, before)
    except ConfigurationError as error:
        raise Problem("invalid", str(error)) from None


def _wrong(error: ValidationError) -> Problem:
    said = (
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return Problem("invalid", "; ".join(said))
