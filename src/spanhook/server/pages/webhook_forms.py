"""Endpoints of webhooks in forms."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from spanhook.server.pages.forms import Fields, invalid, lines_in
from spanhook.server.problems import Problem
from spanhook.server.routes.webhook_models import NewWebhook, WebhookChanges, WebhookShown
from spanhook.server.webhook_events import EVENTS
from spanhook.server.webhook_outbox import PING

KNOWN = tuple(one for one in EVENTS if one != PING)
"""The events that a form offers; others can be written."""
KEPT = {"0": "not at all", "3600": "an hour", "86400": "a day", "604800": "a week"}
"""How long the secret before can be used, too, in seconds."""


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """What a form shows.

    Attributes:
        url, description, tenant: As they were given.
        everything: Whether all events are chosen.
        events: Those that are.
        enabled, ordered: Whether it gets events, and one after the other.
    """

    url: str = ""
    description: str = ""
    tenant: str = ""
    everything: bool = True
    events: tuple[str, ...] = ()
    enabled: bool = True
    ordered: bool = False

    @property
    def others(self) -> str:
        """The chosen events that a form does not offer, one a line."""
        return "\n".join(one for one in self.events if one not in KNOWN)


def draft_of(one: WebhookShown) -> WebhookDraft:
    """An endpoint in a form."""
    events = tuple(event for event in one.events if event != "*")
    everything = "*" in one.events
    return WebhookDraft(one.url, one.description, one.tenant_id, everything, events, one.enabled, one.ordered)


def filled(form: Fields) -> WebhookDraft:
    """The form as it was sent."""
    return WebhookDraft(
        form.get("url", ""),
        form.get("description", ""),
        form.get("tenant_id", ""),
        form.get("everything") == "true",
        tuple(_chosen(form)),
        form.get("enabled") == "true",
        form.get("ordered") == "true",
    )


def new_in(form: Fields) -> NewWebhook:
    """The endpoint that a form creates.

    Raises:
        Problem: A field has an invalid value.
    """
    tenant = {"tenant_id": form["tenant_id"].strip()} if form.get("tenant_id", "").strip() else {}
    try:
        return NewWebhook.model_validate({**_given(form), "enabled": form.get("enabled") == "true", **tenant})
    except ValidationError as error:
        raise invalid(error) from None


def changes_in(form: Fields) -> WebhookChanges:
    """The changes that a form makes.

    Raises:
        Problem: A field has an invalid value.
    """
    try:
        return WebhookChanges.model_validate(_given(form))
    except ValidationError as error:
        raise invalid(error) from None


def kept_in(form: Fields) -> float:
    """For how many seconds the secret before is used, too.

    Raises:
        Problem: It is none of the choices.
    """
    given = form.get("keep_seconds", "86400")
    if given not in KEPT:
        raise Problem("invalid", f"keep_seconds is {given!r}; expected one of {', '.join(KEPT)}")
    return float(given)


def _given(form: Fields) -> dict[str, Any]:
    return {
        "url": form.get("url", "").strip(),
        "description": form.get("description", ""),
        "events": ["*"] if form.get("everything") == "true" else _chosen(form),
        "ordered": form.get("ordered") == "true",
    }


def _chosen(form: Fields) -> list[str]:
    ticked = [one for one in KNOWN if form.get(f"event.{one}") == "true"]
    return list(dict.fromkeys([*ticked, *lines_in(form.get("others", ""))]))
