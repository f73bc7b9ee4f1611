"""Webhooks, and what is to be delivered to them."""

from sqlalchemy import Index, Table

from spanhook.store.control.tables._base import bytes_column, counted, flag, json_column, metadata, number, text_column

webhooks = Table(
    "spanhook_webhooks",
    metadata,
    text_column("webhook_id", key=True),
    text_column("tenant_id"),
    text_column("url"),
    text_column("description"),
    json_column("events"),
    flag("enabled"),
    flag("ordered"),
    bytes_column("secret"),
    bytes_column("secret_before"),
    number("before_until_ns"),
    number("failures"),
    text_column("disabled_reason"),
    number("version"),
    number("created_ns"),
    number("updated_ns"),
    Index(None, "tenant_id", "created_ns", "webhook_id"),
)
"""Endpoints; secrets are encrypted."""

webhook_deliveries = Table(
    "spanhook_webhook_deliveries",
    metadata,
    counted(),
    text_column("delivery_id"),
    text_column("webhook_id"),
    text_column("tenant_id"),
    text_column("event_id"),
    text_column("event_type"),
    text_column("body"),
    text_column("traceparent"),
    text_column("state"),
    number("attempts"),
    number("due_ns"),
    text_column("lease"),
    number("leased_until_ns"),
    json_column("tried"),
    number("created_ns"),
    number("ended_ns"),
    Index("uq_spanhook_webhook_deliveries_delivery_id", "delivery_id", unique=True),
    Index(None, "state", "created_ns"),
    Index(None, "ended_ns"),
    Index(None, "webhook_id", "state", "due_ns"),
    Index(None, "webhook_id", "state", "id"),
    Index(None, "webhook_id", "id"),
)
"""The outbox: an event for one endpoint each, with its attempts."""
