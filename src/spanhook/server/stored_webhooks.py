"""Webhooks and their deliveries, as they are in the database."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping

from spanhook.store import State


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint, without its secrets.

    Attributes:
        webhook_id, tenant: Its id, and whose it is; empty for nobody's.
        url, description: Where it is, and what it is for.
        events: The events that it has chosen.
        enabled, ordered: Whether it gets events, and one after the other.
        failures: How many attempts in a row have failed.
        disabled_reason: Why it was disabled, unless by a person.
        before_until_ns: Until when the secret before the last one is used, too; in nanoseconds since the epoch.
        version: It grows with each change.
        created_ns, updated_ns: Nanoseconds since the epoch.
    """

    webhook_id: str
    tenant: str
    url: str
    description: str
    events: tuple[str, ...]
    enabled: bool
    ordered: bool
    failures: int
    disabled_reason: str
    before_until_ns: int
    version: int
    created_ns: int
    updated_ns: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event for an endpoint.

    Attributes:
        delivery_id, webhook_id: Its id and the endpoint's.
        event_id, event_type: The event.
        body: What is sent.
        state: Whether it is pending, delivered or dead.
        attempts: How many attempts there were.
        tried: The last of them, as ``time_ns``, ``duration_ns``, ``status``, ``error`` and ``response``.
        due_ns, created_ns, ended_ns: Nanoseconds since the epoch.
    """

    delivery_id: str
    webhook_id: str
    event_id: str
    event_type: str
    body: str
    state: State
    attempts: int
    tried: tuple[dict[str, Any], ...]
    due_ns: int
    created_ns: int
    ended_ns: int


def stored_webhook(row: RowMapping) -> Webhook:
    """The endpoint in a row."""
    given = {name: row[name] for name in Webhook.__slots__ if name not in ("tenant", "events")}
    return Webhook(tenant=row["tenant_id"], events=tuple(row["events"]), **given)


def stored_delivery(row: RowMapping) -> Delivery:
    """The delivery in a row."""
    given = {name: row[name] for name in Delivery.__slots__ if name != "tried"}
    return Delivery(tried=tuple(row["tried"]), **given)
