"""What the routes of hooks take and give, as JSON."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, model_validator

from spanhook.definitions import HookDefinition
from spanhook.server.masking import masked
from spanhook.server.stored_hooks import Change, StoredHook
from spanhook.store.control import ExecutionEntry

Name = Annotated[str, Field(min_length=1, max_length=200)]
Event = Annotated[
    str,
    Field(
        min_length=1, max_length=200, description="An event, such as tool.execute.pre, or a kind for the whole call."
    ),
]
Priority = Annotated[int, Field(ge=0, le=1000, strict=True)] | None
_PRIORITY = "Low first; null for the handler's own."
_FAIL_MODE = "What its failure means; null for the handler's own, or by priority: closed below 100."
Reference = Annotated[
    str, Field(min_length=1, max_length=500, description="The handler, as module:Class; only from the allow-list.")
]
Milliseconds = Annotated[float, Field(gt=0, le=5000, allow_inf_nan=False, description="Its own time per operation.")]
Tags = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]
Description = Annotated[str, Field(max_length=4000)]
MOST_LEVELS = 50
"""How deep settings and samples may be nested, as policies may."""
FailMode = Literal["open", "closed"]
Mode = Literal["enforce", "shadow"]


def shallow(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, unless it is nested so deeply that it could be stored and not be written again.

    Raises:
        ValueError: It is.
    """
    inside: list[Any] = [given]
    for _ in range(MOST_LEVELS + 1):
        inside = [one for several in inside for one in _within(several)]
        if not inside:
            return given
    raise ValueError(f"has more than {MOST_LEVELS} levels; flatten it")


def _within(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


Shallow = Annotated[dict[str, Any], AfterValidator(shallow)]


class Given(BaseModel):
    """Refuses unknown keys."""

    model_config = ConfigDict(extra="forbid")


class NewHook(Given):
    """A definition to be created. What is left out has the defaults of definitions."""

    name: Name
    event_type: Event = Field(validation_alias=AliasChoices("event_type", "event"))
    handler_ref: Reference
    description: Description = ""
    priority: Priority = Field(default=None, description=_PRIORITY)
    timeout_ms: Milliseconds = 200.0
    enabled: bool = Field(default=True, strict=True)
    config: Shallow = Field(default={}, description="Settings of the handler.")
    fail_mode: FailMode | None = Field(default=None, description=_FAIL_MODE)
    mode: Mode = "enforce"
    log_executions: bool = Field(default=False, strict=True)
    tags: Tags = []
    tenant_id: str | None = Field(
        default=None, max_length=200, description="By default the caller's; empty for all tenants, with hooks:admin."
    )

    def definition(self, own_tenant: str) -> dict[str, Any]:
        """The fields of the definition that were given."""
        fields = self.model_dump(exclude_unset=True)
        return {**fields, "tenant_id": own_tenant if self.tenant_id is None else self.tenant_id}


class HookChanges(Given):
    """Fields of a definition to be changed; what is left out stays."""

    name: Name = ""
    event_type: Event = Field(default="", validation_alias=AliasChoices("event_type", "event"))
    handler_ref: Reference = ""
    description: Description = ""
    priority: Priority = Field(default=None, description=_PRIORITY)
    timeout_ms: Milliseconds = 200.0
    enabled: bool = Field(default=True, strict=True)
    config: Shallow = Field(default={}, description="All settings; a masked secret keeps its value.")
    fail_mode: FailMode | None = Field(default=None, description=_FAIL_MODE)
    mode: Mode = "enforce"
    log_executions: bool = Field(default=False, strict=True)
    tags: Tags = []


SWITCH = 'send {"enabled": true} to enable the hook, or {"enabled": false} to disable it'


class Switch(Given):
    """Whether a definition is to run."""

    enabled: bool = Field(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, given: object) -> object:
        fields = cast("dict[str, object]", given) if isinstance(given, dict) else {}
        if fields.keys() != {"enabled"} or not isinstance(fields["enabled"], bool):
            raise ValueError(SWITCH)
        return fields


class Hook(BaseModel):
    """A definition. Secrets in its settings are masked."""

    hook_id: str
    name: str
    description: str
    event_type: str
    priority: int | None = Field(description=_PRIORITY)
    handler_ref: str
    timeout_ms: float
    enabled: bool
    tenant_id: str
    config: dict[str, Any]
    fail_mode: FailMode | None = Field(description=_FAIL_MODE)
    mode: Mode
    log_executions: bool
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    version: int = Field(description="1 when it was created; one more after each change.")

    @classmethod
    def of(cls, stored: StoredHook) -> "Hook":
        """What is shown of a definition."""
        return cls(**_shown(stored.definition), version=stored.version)


class SystemHook(BaseModel):
    """What tenants may know of a hook for all tenants."""

    system: Literal[True] = True
    name: str
    event_type: str
    enabled: bool

    @classmethod
    def of(cls, stored: StoredHook) -> "SystemHook":
        """What is shown of a definition to tenants."""
        one = stored.definition
        return cls(name=one.name, event_type=one.event_type, enabled=one.enabled)


class HookPage(BaseModel):
    """Some definitions, in the order of their creation."""

    hooks: list[Hook | SystemHook]
    next_cursor: str = Field(description="Of the next page; empty if this is the last.")


class HookChange(BaseModel):
    """One entry of a definition's history."""

    version: int
    action: str
    actor: str
    time: datetime
    definition: dict[str, Any] = Field(description="After the change; before it if the hook was deleted.")

    @classmethod
    def of(cls, change: Change) -> "HookChange":
        """What is shown of a change."""
        return cls(
            version=change.version,
            action=change.action,
            actor=change.actor,
            time=time_of(change.time_ns),
            definition=_shown(change.definition),
        )


class HistoryPage(BaseModel):
    """Some changes, the newest first."""

    changes: list[HookChange]
    next_cursor: str


class HookResult(BaseModel):
    """What a hook did."""

    hook_name: str
    success: bool
    data: dict[str, Any] = {}
    error: str = ""
    duration_ms: float = 0.0
    decision: str = "allow"
    fail_mode: str = Field(default="", description="What its failure means: open or closed; empty if unknown.")


class Execution(BaseModel):
    """One chain of hooks that ran."""

    log_id: str
    event_type: str
    tenant_id: str
    name: str
    mode: str
    request_id: str
    aborted: bool
    abort_reason: str
    total_duration_ms: float
    timestamp: datetime
    hook_results: list[HookResult]

    @classmethod
    def of(cls, entry: ExecutionEntry) -> "Execution":
        """What is shown of an entry."""
        return cls(
            log_id=entry.log_id,
            event_type=entry.event_type,
            tenant_id=entry.tenant_id,
            name=entry.name,
            mode=entry.mode,
            request_id=entry.request_id,
            aborted=entry.aborted,
            abort_reason=entry.abort_reason,
            total_duration_ms=entry.duration_ns / 1e6,
            timestamp=time_of(entry.time_ns),
            hook_results=[
                HookResult(
                    hook_name=one.hook,
                    success=one.success,
                    data=one.data or {},
                    error=one.error,
                    duration_ms=one.duration_ns / 1e6,
                    decision=one.decision,
                    fail_mode=one.fail_mode,
                )
                for one in entry.results
            ],
        )


class ExecutionPage(BaseModel):
    """Some entries of the execution log, the newest first."""

    logs: list[Execution]
    next_cursor: str


class HookFigures(BaseModel):
    """Statistics of one hook for one event."""

    hook_name: str
    event_type: str
    executions: int
    failures: int
    rejections: int
    p50_ms: float
    p95_ms: float


class HookStatistics(BaseModel):
    """Statistics of the hooks that the caller may see."""

    total_hooks: int
    total_definitions: int
    by_event_type: dict[str, int]
    event_types_active: list[str]
    executions: int
    failures: int
    rejections: int
    hooks: list[HookFigures]


def time_of(ns: int) -> datetime:
    """A time in UTC."""
    return datetime.fromtimestamp(ns / 1e9, UTC)


def _shown(definition: HookDefinition) -> dict[str, Any]:
    return {**definition.model_dump(), "tags": list(definition.tags), "config": masked(definition.config)}
