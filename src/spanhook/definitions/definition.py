"""Definitions: hooks as data, from JSON, YAML or code."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from uuid import uuid4

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from spanhook.model import kinds
from spanhook.semconv import PHASES

REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)


def split_event(event: str) -> tuple[str, str]:
    """Kind and phase of an event; the phase is empty if only a kind is given.

    Raises:
        ValueError: The event is unknown.
    """
    if event in kinds():
        return event, ""
    kind, _, phase = event.rpartition(".")
    if kind in kinds() and phase in PHASES:
        return kind, phase
    raise ValueError(
        f"there is no event {event!r}; expected a kind and a phase, such as 'tool.execute.pre', or a kind alone. "
        f"Phases are {', '.join(PHASES)}; kinds are {', '.join(kinds())}; register your own first, with "
        "spanhook.register_kind()"
    )


def _event(given: str) -> str:
    split_event(given)
    return given


def _reference(given: str) -> str:
    if not REFERENCE.fullmatch(given):
        raise ValueError("expected a module and one name in it, such as 'spanhook.hooks.tool_policy:ToolPolicy'")
    return given


def _now() -> datetime:
    return datetime.now(UTC)


class HookDefinition(BaseModel):
    """One hook as data.

    Attributes:
        hook_id: Its unique id; also read from ``id``.
        name: Its name in decisions, metrics and logs.
        description: A description for readers.
        event_type: The event, such as ``tool.execute.pre``, or a kind for a hook around the whole call; also read from
            ``event``.
        priority: 0 to 1000, low first; ``None`` for the handler's own, which for middleware is 100 unless it has one.
        handler_ref: The class, as ``module:Name``; see ``HookRegistry``.
        timeout_ms: Milliseconds of its own time per operation, up to 5000.
        enabled: Whether it runs.
        tenant_id: Only operations of this tenant; empty for all. Also read from ``tenant``.
        config: Settings of the handler, validated by its ``Config``.
        fail_mode: What happens if it fails: ``closed`` refuses, ``open`` continues; ``None`` for the handler's own, or
            by priority if it has none: closed below 100.
        mode: ``shadow`` runs it beside the call: what it would have done is recorded but not done.
        log_executions: Record the hooks of its event in the execution log, whatever the settings say.
        tags: Tags for readers and tools.
        created_at, updated_at: When it was created and last changed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, validate_default=True)

    hook_id: str = Field(
        default_factory=lambda: f"hook_{uuid4().hex[:12]}",
        validation_alias=AliasChoices("hook_id", "id"),
        min_length=1,
        max_length=200,
    )
    name: str = Field(min_length=1, max_length=200)
    description: str = ""
    event_type: Annotated[str, AfterValidator(_event)] = Field(validation_alias=AliasChoices("event_type", "event"))
    priority: int | None = Field(default=None, ge=0, le=1000, strict=True)
    handler_ref: Annotated[str, AfterValidator(_reference)]
    timeout_ms: float = Field(default=200.0, gt=0, le=5000, allow_inf_nan=False)
    enabled: bool = Field(default=True, strict=True)
    tenant_id: str = Field(default="", validation_alias=AliasChoices("tenant_id", "tenant"))
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    fail_mode: Literal["open", "closed"] | None = None
    mode: Literal["enforce", "shadow"] = "enforce"
    log_executions: bool = Field(default=False, strict=True)
    tags: tuple[str, ...] = ()
    created_at: datetime = Field(default_factory=_now)
    updated_at: datetime = Field(default_factory=_now)

    def is_like(self, other: "HookDefinition") -> bool:
        """Whether the two are equal except for ``created_at`` and ``updated_at``."""
        times = {"created_at", "updated_at"}
        return self.model_dump(exclude=times) == other.model_dump(exclude=times)

    def changed(self, **changes: Any) -> Self:
        """A validated copy with changed fields; ``updated_at`` is now.

        Raises:
            ValidationError: A field is unknown or has an invalid value.
        """
        fields = self.model_dump(exclude_unset=True)
        kept = {"hook_id": self.hook_id, "created_at": self.created_at, "updated_at": _now()}
        given = {_ALSO_CALLED.get(name, name): value for name, value in changes.items()}
        return self.model_validate({**fields, **kept, **given})


_ALSO_CALLED = {"id": "hook_id", "event": "event_type", "tenant": "tenant_id"}
