"""Forms of definitions: what they show, and what was sent with them."""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from spanhook.model import kinds
from spanhook.semconv import PHASES
from spanhook.server.pages.forms import Fields, invalid, lines_in
from spanhook.server.pages.schema_forms import Field, Schema, config_from, fields_for
from spanhook.server.problems import Problem
from spanhook.server.routes.hook_models import Hook, HookChanges, NewHook


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a form shows, as texts."""

    handler_ref: str
    name: str = ""
    event_type: str = "tool.execute.pre"
    description: str = ""
    priority: str = ""
    timeout_ms: str = "200"
    fail_mode: str = ""
    mode: str = "enforce"
    enabled: bool = True
    log_executions: bool = False
    tags: str = ""
    tenant_id: str = ""
    config: dict[str, Any] = field(default_factory=dict[str, Any])

    def with_form(self, form: Fields, schema: Schema | None) -> "Draft":
        """The same with what was sent. Settings that cannot be read stay as they were."""
        texts = ("name", "event_type", "description", "priority", "timeout_ms", "fail_mode", "mode", "tags")
        given = {name: form[name] for name in (*texts, "tenant_id") if name in form}
        switches = {name: form.get(name) == "true" for name in ("enabled", "log_executions")}
        try:
            config = config_from(form, fields_for(schema, self.config), self.config)
        except Problem:
            config = self.config
        return replace(self, **given, **switches, config=config)


def draft_of(stored: Hook) -> Draft:
    """What the form of a definition shows."""
    return Draft(
        handler_ref=stored.handler_ref,
        name=stored.name,
        event_type=stored.event_type,
        description=stored.description,
        priority="" if stored.priority is None else str(stored.priority),
        timeout_ms=f"{stored.timeout_ms:g}",
        fail_mode=stored.fail_mode or "",
        mode=stored.mode,
        enabled=stored.enabled,
        log_executions=stored.log_executions,
        tags="\n".join(stored.tags),
        tenant_id=stored.tenant_id,
        config=stored.config,
    )


def events() -> list[str]:
    """All events, and all kinds."""
    return [one for kind in sorted(kinds()) for one in (kind, *(f"{kind}.{phase}" for phase in PHASES))]


def new_in(form: Fields, fields: list[Field]) -> NewHook:
    """The definition that a form creates.

    Raises:
        Problem: A field has an invalid value.
    """
    given = {**_given(form), "handler_ref": form.get("handler_ref", ""), "config": config_from(form, fields, {})}
    if form.get("tenant_id"):
        given["tenant_id"] = form["tenant_id"]
    try:
        return NewHook.model_validate(given)
    except ValidationError as error:
        raise invalid(error) from None


def changes_in(form: Fields, fields: list[Field], before: dict[str, Any]) -> HookChanges:
    """The changes that a form makes.

    Raises:
        Problem: A field has an invalid value.
    """
    try:
        return HookChanges.model_validate({**_given(form), "config": config_from(form, fields, before)})
    except ValidationError as error:
        raise invalid(error) from None


def _given(form: Fields) -> dict[str, Any]:
    return {
        "name": form.get("name", "").strip(),
        "event_type": form.get("event_type", "").strip(),
        "description": form.get("description", ""),
        "priority": _whole(form.get("priority", "")),
        "timeout_ms": form.get("timeout_ms", "").strip() or 200.0,
        "fail_mode": form.get("fail_mode") or None,
        "mode": form.get("mode") or "enforce",
        "enabled": form.get("enabled") == "true",
        "log_executions": form.get("log_executions") == "true",
        "tags": lines_in(form.get("tags", "")),
    }


def _whole(text: str) -> Any:
    try:
        return int(text) if text.strip() else None
    except ValueError:
        return text
