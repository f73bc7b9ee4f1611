"""What the routes of webhooks take and give, as JSON."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from spanhook.server.routes.hook_models import Given, time_of
from spanhook.server.stored_webhooks import Delivery, Webhook
from spanhook.server.webhook_events import known_event
from spanhook.store import State

Url = Annotated[str, Field(min_length=1, max_length=2048, description="Where events are sent, with https://.")]
Chosen = Annotated[
    list[
        Annotated[
            str,
            Field(max_length=200, pattern=r"^(\*|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?)$"),
            AfterValidator(known_event),
        ]
    ],
    Field(min_length=1, max_length=100, description="Events, such as job.completed, job.* or *."),
]
Description = Annotated[str, Field(max_length=1000)]
Flag = Annotated[bool, Field(strict=True)]


class NewWebhook(Given):
    """An endpoint to be created."""

    url: Url
    events: Chosen = Field(default=["*"])
    description: Description = ""
    enabled: Flag = True
    ordered: Flag = Field(default=False, description="Send an event only after those before it have been delivered.")
    tenant_id: str | None = Field(default=None, max_length=200, description="By default the caller's.")


class WebhookChanges(Given):
    """Fields to be changed; the others stay."""

    url: Url = ""
    events: Chosen = Field(default=[])
    description: Description = ""
    enabled: Flag = True
    ordered: Flag = False


class NewSecret(Given):
    """How the secret is replaced."""

    keep_seconds: float = Field(
        default=86_400, ge=0, le=2_592_000, description="How long the secret before is used, too."
    )


class WebhookShown(BaseModel):
    """An endpoint."""

    webhook_id: str
    tenant_id: str
    url: str
    events: list[str]
    description: str
    enabled: bool
    ordered: bool
    failures: int = Field(description="How many attempts in a row have failed.")
    disabled_reason: str = Field(description="Why it was disabled, unless by a person.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, one: Webhook, **further: Any) -> "WebhookShown":
        """What is shown of an endpoint."""
        return cls(
            webhook_id=one.webhook_id,
            tenant_id=one.tenant,
            url=one.url,
            events=list(one.events),
            description=one.description,
            enabled=one.enabled,
            ordered=one.ordered,
            failures=one.failures,
            disabled_reason=one.disabled_reason,
            created_at=time_of(one.created_ns),
            updated_at=time_of(one.updated_ns),
            **further,
        )


class WebhookWithSecret(WebhookShown):
    """An endpoint, with its secret for the only time."""

    secret: str = Field(description="What signatures are made with; it is not shown again.")


class WebhookPage(BaseModel):
    """Some endpoints."""

    webhooks: list[WebhookShown]
    next_cursor: str


class AttemptShown(BaseModel):
    """One attempt to deliver."""

    at: datetime
    duration_ms: float
    status: int = Field(description="The HTTP status; 0 if there was no response.")
    error: str
    response: str = Field(description="The beginning of the response's body.")


class DeliveryShown(BaseModel):
    """An event for an endpoint."""

    delivery_id: str
    webhook_id: str
    event_id: str
    event_type: str
    state: State
    attempts: int
    tried: list[AttemptShown] = Field(description="The last attempts, the oldest first.")
    next_at: datetime | None = Field(description="When it is tried next.")
    created_at: datetime
    ended_at: datetime | None
    body: str = Field(description="What is sent: a CloudEvent as JSON.")

    @classmethod
    def of(cls, one: Delivery) -> "DeliveryShown":
        """What is shown of a delivery."""
        tried = [
            AttemptShown(
                at=time_of(each["time_ns"]),
                duration_ms=each["duration_ns"] / 1e6,
                status=each["status"],
                error=each["error"],
                response=each["response"],
            )
            for each in one.tried
        ]
        return cls(
            delivery_id=one.delivery_id,
            webhook_id=one.webhook_id,
            event_id=one.event_id,
            event_type=one.event_type,
            state=one.state,
            attempts=one.attempts,
            tried=tried,
            next_at=time_of(one.due_ns) if one.state == "pending" else None,
            created_at=time_of(one.created_ns),
            ended_at=time_of(one.ended_ns) if one.ended_ns else None,
            body=one.body,
        )


class DeliveryPage(BaseModel):
    """Some deliveries, the newest first."""

    deliveries: list[DeliveryShown]
    next_cursor: str
