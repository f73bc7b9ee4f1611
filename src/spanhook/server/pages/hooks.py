"""The pages of hooks: which there are, creating, changing and deleting them, and their history."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server._requests import wants_page
from spanhook.server.hook_store import FOR_ALL
from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.forms import Fields, Form
from spanhook.server.pages.hook_forms import Draft, changes_in, draft_of, events, new_in
from spanhook.server.pages.own_hooks import own_hooks
from spanhook.server.pages.parameters import Cursor, Filter
from spanhook.server.pages.rendering import address, goes_to, render
from spanhook.server.pages.schema_forms import Schema, fields_for
from spanhook.server.problems import Problem
from spanhook.server.routes.hook_models import Hook, HookChange, HookChanges, Switch
from spanhook.server.routes.hooks import (
    HookId,
    create_hook,
    delete_hook,
    get_hook,
    hook_history,
    list_hooks,
    statistics,
    toggle_hook,
    update_hook,
)
from spanhook.server.routes.sync import list_processes
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/hooks", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("hooks:read"))]
Manager = Annotated[Principal, Depends(Needs("hooks:manage"))]
_MENDABLE = ("invalid", "handler_not_allowed", "too_many_hooks", "conflict")
_MOST_CHANGES, _MOST_PROCESSES = 50, 200


@router.get("")
async def page(
    request: Request,
    principal: Reader,
    services: Serving,
    event: Filter = "",
    tenant: Filter = "",
    enabled: Filter = "",
    cursor: Cursor = "",
) -> Response:
    """Definitions."""
    wanted = {"true": True, "false": False}.get(enabled)
    found = await list_hooks(principal, services, event or None, tenant or None, wanted, cursor or None)
    figures = await statistics(principal, services)
    processes = (await list_processes(principal, services, limit=_MOST_PROCESSES)).processes
    given = {"event": event, "tenant": tenant, "enabled": enabled}
    return render(
        request.scope,
        "hooks.html",
        hooks=found.hooks,
        figures={(one.hook_name, one.event_type): one for one in figures.hooks},
        all_of=figures,
        own=own_hooks(processes),
        processes=processes,
        more=address(request, cursor=found.next_cursor) if found.next_cursor else "",
        first=address(request, cursor="") if cursor else "",
        given=given,
        filtered=any(given.values()),
        events=events(),
        live="" if cursor else "/events/hooks",
    )


@router.get("/new")
async def ask_for_new(request: Request, principal: Manager, services: Serving, handler: Filter = "") -> Response:
    """Choose a handler, and then its settings."""
    if not handler:
        choices = await services.handlers.choices(principal)
        return render(request.scope, "hook_new.html", choices=choices)
    schema = await services.handlers.schema(handler)
    return _form(request, Draft(handler_ref=handler), schema)


@router.post("")
async def create(request: Request, principal: Manager, services: Serving, form: Form) -> Response:
    """Create a definition."""
    handler = form.get("handler_ref", "")
    schema = await services.handlers.schema(handler)
    try:
        made = await create_hook(new_in(form, fields_for(schema, {})), principal, services)
    except Problem as problem:
        return _again(request, problem, form, Draft(handler_ref=handler), schema)
    return goes_to(_path(made.hook_id))


@router.get("/{hook_id}")
async def hook(request: Request, hook_id: HookId, principal: Reader, services: Serving) -> Response:
    """One definition, and what was done to it."""
    found = await _whole(hook_id, principal, services)
    history = await hook_history(hook_id, principal, services, limit=_MOST_CHANGES)
    return _form(request, draft_of(found), await _schema(services, found), found, history.changes)


@router.post("/{hook_id}")
async def change(request: Request, hook_id: HookId, principal: Manager, services: Serving, form: Form) -> Response:
    """Change a definition."""
    found = await _whole(hook_id, principal, services)
    schema = await _schema(services, found)
    try:
        if form.get("version", str(found.version)) != str(found.version):
            raise Problem("conflict", "the hook was changed meanwhile; load the page again")
        given = changes_in(form, fields_for(schema, found.config), found.config)
        await update_hook(hook_id, given, principal, services)
    except Problem as problem:
        return _again(request, problem, form, draft_of(found), schema, found)
    return goes_to(_path(hook_id))


@router.post("/{hook_id}/enabled")
async def switch(hook_id: HookId, principal: Manager, services: Serving, form: Form) -> Response:
    """Switch a definition on or off: to the state that the page offered, whatever has happened since."""
    await _whole(hook_id, principal, services)
    enabled = _choice(form, "enabled", "true", "false") == "true"
    await toggle_hook(hook_id, principal, services, Switch(enabled=enabled))
    return goes_to(_back(form, hook_id))


@router.post("/{hook_id}/mode")
async def set_mode(hook_id: HookId, principal: Manager, services: Serving, form: Form) -> Response:
    """Let a definition enforce what it decides, or only note it."""
    found = await _whole(hook_id, principal, services)
    mode = _choice(form, "mode", "enforce", "shadow")
    if found.mode != mode:
        await update_hook(hook_id, HookChanges.model_validate({"mode": mode}), principal, services)
    return goes_to(_back(form, hook_id))


@router.post("/{hook_id}/delete")
async def delete(hook_id: HookId, principal: Manager, services: Serving, _form: Form) -> Response:
    """Delete a definition."""
    await delete_hook(hook_id, principal, services)
    return goes_to("/hooks")


def _form(
    request: Request,
    draft: Draft,
    schema: Schema | None,
    stored: Hook | None = None,
    history: list[HookChange] | None = None,
    *,
    error: str = "",
    status: int = 200,
) -> Response:
    principal: Principal = request.state.principal
    return render(
        request.scope,
        "hook.html",
        status=status,
        draft=draft,
        stored=stored,
        fields=fields_for(schema, draft.config),
        history=history or [],
        events=events(),
        error=error,
        manages=principal.may("hooks:manage"),
        live="",
    )


def _again(
    request: Request, problem: Problem, form: Fields, draft: Draft, schema: Any, stored: Hook | None = None
) -> Response:
    """The form as it was sent, with what is wrong about it."""
    if problem.code not in _MENDABLE or not wants_page(request.scope):
        raise problem
    return _form(request, draft.with_form(form, schema), schema, stored, error=problem.detail, status=problem.status)


async def _whole(hook_id: str, principal: Principal, services: Services) -> Hook:
    found = await get_hook(hook_id, principal, services)
    if not isinstance(found, Hook):
        raise Problem("scope_missing", FOR_ALL)
    return found


async def _schema(services: Services, found: Hook) -> Schema | None:
    """The schema of a definition's settings. One whose handler is not there any more has only JSON."""
    try:
        return await services.handlers.schema(found.handler_ref)
    except Problem:
        return None


def _path(hook_id: str) -> str:
    return f"/hooks/{quote(hook_id, safe='')}"


def _choice(form: Fields, field: str, *choices: str) -> str:
    """What was chosen. Nothing is changed by a form that does not say."""
    chosen = form.get(field, "")
    if chosen not in choices:
        raise Problem("invalid", f"{field}={chosen!r}: expected {' or '.join(choices)}; load the page again")
    return chosen


def _back(form: Fields, hook_id: str) -> str:
    return "/hooks" if form.get("from") == "list" else _path(hook_id)
