"""The pages of webhooks: endpoints, creating and changing them, and what was delivered to them."""

from typing import Annotated, get_args
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response

from spanhook.server._requests import wants_page
from spanhook.server.needs import services_of
from spanhook.server.pages.forms import Form
from spanhook.server.pages.parameters import Cursor
from spanhook.server.pages.rendering import address, goes_to, render
from spanhook.server.pages.webhook_forms import KEPT, KNOWN, WebhookDraft, changes_in, draft_of, filled, kept_in, new_in
from spanhook.server.problems import Problem
from spanhook.server.routes.webhook_models import NewSecret, WebhookChanges, WebhookShown, WebhookWithSecret
from spanhook.server.routes.webhooks import (
    DeliveryId,
    Manager,
    Sending,
    WebhookId,
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    resend,
    rotate_secret,
    test_webhook,
    update_webhook,
)
from spanhook.server.services import Services
from spanhook.server.webhooks import Webhooks
from spanhook.store import State

router = APIRouter(prefix="/webhooks", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
_AT_A_TIME = 50
_MENDABLE = ("invalid", "conflict", "not_found")


@router.get("")
async def page(request: Request, principal: Manager, services: Serving, cursor: Cursor = "") -> Response:
    """Endpoints."""
    if services.webhooks is None:
        return render(request.scope, "webhooks.html", webhooks=[], set_up=False, first="", more="", live="")
    found = await list_webhooks(principal, services.webhooks, cursor or None)
    return render(
        request.scope,
        "webhooks.html",
        webhooks=found.webhooks,
        set_up=True,
        more=address(request, cursor=found.next_cursor) if found.next_cursor else "",
        first=address(request, cursor="") if cursor else "",
        live="" if cursor else "/events/webhooks",
    )


@router.get("/new")
async def ask_for_new(request: Request, _principal: Manager, _webhooks: Sending) -> Response:
    """The form of a new endpoint."""
    return _form(request, WebhookDraft())


@router.post("")
async def create(request: Request, principal: Manager, webhooks: Sending, form: Form) -> Response:
    """Create an endpoint, and show its secret for the only time."""
    try:
        made = await create_webhook(new_in(form), principal, webhooks)
    except Problem as problem:
        if problem.code not in _MENDABLE or not wants_page(request.scope):
            raise
        return _form(request, filled(form), error=problem.detail, status=problem.status)
    return _secret(request, made, status=201)


@router.get("/{webhook_id}")
async def webhook(
    request: Request,
    webhook_id: WebhookId,
    principal: Manager,
    webhooks: Sending,
    state: Annotated[State | None, Query()] = None,
    cursor: Cursor = "",
) -> Response:
    """One endpoint, and what was delivered to it."""
    stored = await get_webhook(webhook_id, principal, webhooks)
    return await _one(request, stored, draft_of(stored), principal, webhooks, state=state, cursor=cursor)


@router.post("/{webhook_id}")
async def change(
    request: Request, webhook_id: WebhookId, principal: Manager, webhooks: Sending, form: Form
) -> Response:
    """Change an endpoint."""
    try:
        await update_webhook(webhook_id, changes_in(form), principal, webhooks)
    except Problem as problem:
        if problem.code not in _MENDABLE or not wants_page(request.scope):
            raise
        stored = await get_webhook(webhook_id, principal, webhooks)
        draft, said, status = filled(form), problem.detail, problem.status
        return await _one(request, stored, draft, principal, webhooks, error=said, status=status)
    return goes_to(_path(webhook_id))


@router.post("/{webhook_id}/enabled")
async def switch(webhook_id: WebhookId, principal: Manager, webhooks: Sending, form: Form) -> Response:
    """Enable or disable an endpoint."""
    await update_webhook(webhook_id, WebhookChanges(enabled=form.get("enabled") == "true"), principal, webhooks)
    return goes_to("/webhooks" if form.get("from") == "list" else _path(webhook_id))


@router.post("/{webhook_id}/secret")
async def rotate(
    request: Request, webhook_id: WebhookId, principal: Manager, webhooks: Sending, form: Form
) -> Response:
    """Give an endpoint a new secret, and show it for the only time."""
    given = NewSecret(keep_seconds=kept_in(form))
    return _secret(request, await rotate_secret(webhook_id, principal, webhooks, given))


@router.post("/{webhook_id}/test")
async def ping(webhook_id: WebhookId, principal: Manager, webhooks: Sending, _form: Form) -> Response:
    """Send a test event."""
    await test_webhook(webhook_id, principal, webhooks)
    return goes_to(_path(webhook_id))


@router.post("/{webhook_id}/deliveries/{delivery_id}/resend")
async def again(
    webhook_id: WebhookId, delivery_id: DeliveryId, principal: Manager, webhooks: Sending, _form: Form
) -> Response:
    """Deliver an event again."""
    await resend(webhook_id, delivery_id, principal, webhooks)
    return goes_to(_path(webhook_id))


@router.post("/{webhook_id}/delete")
async def delete(webhook_id: WebhookId, principal: Manager, webhooks: Sending, _form: Form) -> Response:
    """Delete an endpoint."""
    await delete_webhook(webhook_id, principal, webhooks)
    return goes_to("/webhooks")


async def _one(
    request: Request,
    stored: WebhookShown,
    draft: WebhookDraft,
    principal: Manager,
    webhooks: Webhooks,
    *,
    state: State | None = None,
    cursor: str = "",
    error: str = "",
    status: int = 200,
) -> Response:
    found = await list_deliveries(stored.webhook_id, principal, webhooks, state, cursor or None, _AT_A_TIME)
    return render(
        request.scope,
        "webhook.html",
        status=status,
        stored=stored,
        draft=draft,
        known=KNOWN,
        kept=KEPT,
        deliveries=found.deliveries,
        chosen=state or "",
        states=("", *get_args(State)),
        more=address(request, cursor=found.next_cursor) if found.next_cursor else "",
        first=address(request, cursor="") if cursor else "",
        error=error,
        live="" if cursor or error else f"/events{_path(stored.webhook_id)}",
    )


def _form(request: Request, draft: WebhookDraft, *, error: str = "", status: int = 200) -> Response:
    return render(request.scope, "webhook_new.html", status=status, draft=draft, known=KNOWN, error=error, live="")


def _secret(request: Request, made: WebhookWithSecret, status: int = 200) -> Response:
    """No redirect: the secret is on no page that can be loaded."""
    return render(request.scope, "webhook_secret.html", status=status, made=made, live="")


def _path(webhook_id: str) -> str:
    return f"/webhooks/{quote(webhook_id, safe='')}"
