"""``/v1/webhooks``: endpoints that events are sent to, and what was delivered to them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from spanhook.server.needs import Needs
from spanhook.server.problems import ALWAYS, ON_CHANGES, Code, Problem, documented
from spanhook.server.routes.hooks import Cursor, Limit, Serving
from spanhook.server.routes.webhook_models import (
    DeliveryPage,
    DeliveryShown,
    NewSecret,
    NewWebhook,
    WebhookChanges,
    WebhookPage,
    WebhookShown,
    WebhookWithSecret,
)
from spanhook.server.scopes import Principal
from spanhook.server.webhooks import Webhooks
from spanhook.store import State

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])


def webhooks_of(services: Serving) -> Webhooks:
    """The server's webhooks.

    Raises:
        Problem: They are not set up.
    """
    if services.webhooks is None:
        raise Problem("not_found", "webhooks are not set up: set webhooks in the server's configuration")
    return services.webhooks


Manager = Annotated[Principal, Depends(Needs("webhooks:manage"))]
Sending = Annotated[Webhooks, Depends(webhooks_of)]
WebhookId = Annotated[str, Path(min_length=1, max_length=200)]
DeliveryId = Annotated[str, Path(min_length=1, max_length=200)]

_CHANGED: tuple[Code, ...] = (*ALWAYS, *ON_CHANGES, "not_found", "conflict")


@router.post("", status_code=201, responses=documented(*_CHANGED))
async def create_webhook(given: NewWebhook, principal: Manager, webhooks: Sending) -> WebhookWithSecret:
    """Create an endpoint. The response has its secret, which is not shown again."""
    await webhooks.check(given.url)
    tenant = principal.tenant if given.tenant_id is None else given.tenant_id
    made, secret = await webhooks.store.create(principal, tenant, given.model_dump(exclude={"tenant_id"}))
    return WebhookWithSecret(**WebhookShown.of(made).model_dump(), secret=secret)


@router.get("", responses=documented(*ALWAYS, "not_found"))
async def list_webhooks(
    principal: Manager, webhooks: Sending, cursor: Cursor = None, limit: Limit = 100
) -> WebhookPage:
    """List endpoints."""
    found, more = await webhooks.store.page(principal, cursor=cursor, limit=limit)
    return WebhookPage(webhooks=[WebhookShown.of(one) for one in found], next_cursor=more)


@router.get("/{webhook_id}", responses=documented(*ALWAYS, "not_found"))
async def get_webhook(webhook_id: WebhookId, principal: Manager, webhooks: Sending) -> WebhookShown:
    """One endpoint."""
    return WebhookShown.of(await webhooks.store.get(principal, webhook_id))


@router.patch("/{webhook_id}", responses=documented(*_CHANGED))
async def update_webhook(
    webhook_id: WebhookId, given: WebhookChanges, principal: Manager, webhooks: Sending
) -> WebhookShown:
    """Change some fields of an endpoint; the others stay. Enabling it forgets its failures."""
    changes = given.model_dump(exclude_unset=True)
    if "url" in changes:
        await webhooks.check(changes["url"])
    changed = await webhooks.store.change(principal, webhook_id, changes)
    webhooks.wake()
    return WebhookShown.of(changed)


@router.delete("/{webhook_id}", responses=documented(*_CHANGED))
async def delete_webhook(webhook_id: WebhookId, principal: Manager, webhooks: Sending) -> WebhookShown:
    """Delete an endpoint. What was not delivered to it is not any more."""
    return WebhookShown.of(await webhooks.store.delete(principal, webhook_id))


@router.post("/{webhook_id}/secret", responses=documented(*_CHANGED))
async def rotate_secret(
    webhook_id: WebhookId, principal: Manager, webhooks: Sending, given: NewSecret | None = None
) -> WebhookWithSecret:
    """Give an endpoint a new secret. For a while, deliveries are signed with the one before, too."""
    changed, secret = await webhooks.store.rotate(principal, webhook_id, (given or NewSecret()).keep_seconds)
    return WebhookWithSecret(**WebhookShown.of(changed).model_dump(), secret=secret)


@router.post("/{webhook_id}/test", status_code=202, responses=documented(*_CHANGED))
async def test_webhook(webhook_id: WebhookId, principal: Manager, webhooks: Sending) -> DeliveryShown:
    """Send the event webhook.ping to an endpoint, even to a disabled one. What came of it is in its deliveries."""
    delivery = await webhooks.store.ping(principal, webhook_id)
    webhooks.wake()
    return DeliveryShown.of(delivery)


@router.get("/{webhook_id}/deliveries", responses=documented(*ALWAYS, "not_found"))
async def list_deliveries(
    webhook_id: WebhookId,
    principal: Manager,
    webhooks: Sending,
    state: State | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> DeliveryPage:
    """What was delivered to an endpoint, is to be, or could not be (dead): the newest first."""
    found, more = await webhooks.store.deliveries(principal, webhook_id, state=state, cursor=cursor, limit=limit)
    return DeliveryPage(deliveries=[DeliveryShown.of(one) for one in found], next_cursor=more)


@router.post("/{webhook_id}/deliveries/{delivery_id}/resend", status_code=202, responses=documented(*_CHANGED))
async def resend(
    webhook_id: WebhookId, delivery_id: DeliveryId, principal: Manager, webhooks: Sending
) -> DeliveryShown:
    """Deliver an event again that was delivered or is dead: a new delivery with the same event id."""
    delivery = await webhooks.store.resend(principal, webhook_id, delivery_id)
    webhooks.wake()
    return DeliveryShown.of(delivery)
