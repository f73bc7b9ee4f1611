"""Settings of ``agent_hooks``."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, field_validator

from spanhook.gating import NEUTRAL, Looser
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.hooks.approval import Asking

PointName = Literal[
    "agent_startup",
    "input",
    "pre_model_call",
    "post_model_call",
    "pre_tool_call",
    "post_tool_call",
    "output",
    "agent_shutdown",
]
Profile = Literal["sequential/first_deny", "sequential/run_all", "parallel/strictest", "parallel/unanimous"]
Synthesized = Literal["deny", "approval"]
_OBJECT = {"type": "string", "minLength": 1}
Named = Annotated[Any, WithJsonSchema(_OBJECT)]
"""An object, or where one is: ``module:name`` or ``path/to/file.py:name``."""


class Interceptor(SettingsModel):
    """One interceptor."""

    use: Named = Field(description="Where it is: module:name, path/to/file.py:name, or the address of a service.")
    name: str = Field(
        default="", pattern=r"^([a-z][a-z0-9_-]{0,63})?$", description="Its name in records; nothing of the content."
    )
    at: list[PointName] | None = Field(default=None, min_length=1, description="The points it runs at; all by default.")
    headers: dict[str, str] = Field(default={}, max_length=50, description="Headers for a service.")
    headers_env: dict[str, str] = Field(
        default={}, max_length=50, description="Headers for a service, by the environment variables that have them."
    )
    retries: int = Field(default=1, ge=0, le=10, description="How often to ask a service again.")


class Composition(SettingsModel):
    """How the verdicts of several interceptors become one."""

    profile: Annotated[Profile, NEUTRAL] = Field(
        default="sequential/first_deny", description="The profile, as the contract names it."
    )
    on_approval: Annotated[Literal["stop", "resume"] | None, Looser(("resume", "stop"))] = Field(
        default=None, description="With first_deny: what follows an approval."
    )
    on_disagreement: Annotated[Synthesized | None, Looser(("deny", "approval"))] = Field(
        default=None, description="With unanimous: what a disagreement is."
    )
    on_transform_conflict: Annotated[Synthesized | None, Looser(("deny", "approval"))] = Field(
        default=None, description="With a parallel profile: what two changes of the same are."
    )


class Config(SettingsModel):
    """Settings of ``agent_hooks``."""

    interceptors: list[Annotated[Any, WithJsonSchema({"anyOf": [_OBJECT, Interceptor.model_json_schema()]})]] = Field(
        default=[], max_length=100, description="Whom calls are told, in this order."
    )
    composition: Composition = Field(default=Composition(), description="How several verdicts become one.")
    mode: Annotated[Literal["enforce", "evaluate_only"], Looser(("enforce", "evaluate_only"))] = Field(
        default="enforce", description="Whether verdicts are acted on, or only recorded."
    )
    unbound: Annotated[Literal["deny", "allow"], Looser(("deny", "allow"))] = Field(
        default="deny", description="What becomes of points that no interceptor runs at; the contract denies them."
    )
    timeout: Annotated[float | None, NEUTRAL] = Field(
        default=5, gt=0, le=3600, description="Seconds for each interceptor and resolver that is asynchronous."
    )
    approval: Annotated[
        Any,
        WithJsonSchema({"anyOf": [_OBJECT, Asking.model_json_schema(), {"type": "null"}]}),
        Looser("present"),
    ] = Field(default=None, description="Who may lift denials that say so: a resolver, or settings of approval.")
    store: str = Field(
        default="memory://",
        description="Where requests for approval are kept: memory://, sqlite:///FILE or redis://HOST, or a store.",
        json_schema_extra={"spanhook_store": "default"},
    )
    redact: Named | None = Field(default=None, description="Makes of a context what approvers are shown.")
    identity: Named | None = Field(
        default="jcs-sha256", description="Identifies contexts: jcs-sha256, null, or a function that has a name."
    )
    tools: Annotated[list[str], NEUTRAL] = Field(
        default=[], max_length=1000, description="The tools the agent has, told at its start."
    )
    streams: Annotated[Literal["buffer", "incremental"], Looser(("buffer", "incremental"))] = Field(
        default="buffer", description="Whether streams of models are held back whole, or released as verdicts permit."
    )
    segment: Annotated[int, NEUTRAL] = Field(
        default=200, ge=1, le=65536, description="With incremental: how many characters at least are told at once."
    )
    tool_failure: Annotated[Literal["continue", "terminate"], Looser(("terminate", "continue"))] = Field(
        default="continue", description="Whether a failure at a tool's points is an error of the tool, or ends the run."
    )
    records: Named | None = Field(default=None, description="Called with each record of the contract.")
    trace: Annotated[bool, NEUTRAL] = Field(
        default=False, description="Whether contexts and records have the ids of trace and span."
    )
    declaration: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})] = Field(
        default=None, description="A host declaration, or the file with it, instead of what it declares here."
    )

    @field_validator("interceptors")
    @classmethod
    def _bound(cls, given: list[Any]) -> list[Any]:
        return [_interceptor(one) for one in given]

    @field_validator("approval")
    @classmethod
    def _asked(cls, given: Any) -> Any:
        return Asking.model_validate(given) if isinstance(given, Mapping) else given

    def conflicts(self) -> Iterator[Conflict]:
        if self.declaration is None:
            return
        defaults = Config()
        for name in _DECLARED:
            if getattr(self, name) != getattr(defaults, name):
                yield Conflict(f"the declaration says this; remove {name}", ("declaration", name))


_DECLARED = ("interceptors", "composition", "mode", "unbound", "timeout", "identity")


def _interceptor(given: Any) -> Interceptor:
    if isinstance(given, Interceptor):
        return given
    return Interceptor.model_validate(given if isinstance(given, Mapping) else {"use": given})
