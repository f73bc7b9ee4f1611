"""The keys of a configuration file. Imported only when one is used: pydantic is optional.

The JSON Schema in ``docs/spanhook.schema.json`` is generated from these models.
"""

import base64
import binascii
import ipaddress
import re
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator

from spanhook.config.bind_entry import BindEntry
from spanhook.schedules import CronEntry
from spanhook.settings import LONGEST_HOURS, Content, Mode
from spanhook.store import MOST_FRAMES

MAX_MS = 365 * 24 * 3600 * 1000

Text = Annotated[str, StringConstraints(min_length=1)]
_ID = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$")


def _checked_id(given: Any) -> Any:
    if isinstance(given, str) and not _ID.fullmatch(given):
        raise ValueError("expected up to 100 letters, digits and any of _ . : / -, and no other character")
    return given


Id = Annotated[str, BeforeValidator(_checked_id), Field(json_schema_extra={"pattern": _ID.pattern})]
Names = Annotated[list[Text], Field(min_length=1)]
Milliseconds = Annotated[float, Field(gt=0, le=MAX_MS)]


def seed_name(name: str) -> Any:
    """The name of a field, which may also have the prefix ``hooks_``."""
    return AliasChoices(name, f"hooks_{name}")


class Strict(BaseModel):
    """Refuses unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class HooksEntry(Strict):
    """Your own hooks, in Python."""

    path: Text = Field(
        description="./hooks.py:hooks or package.module:hooks. Paths are relative to the folder of this file."
    )
    timeout: float | None = Field(
        default=None, gt=0, le=MAX_MS / 1000, description="Seconds for each hook; only for run hooks (RunHooks)."
    )


class SettingsEntry(Strict):
    """Settings of the process; missing keys have their defaults."""

    steps: bool | None = Field(default=None, description="Make an operation of every graph node.")
    stream_usage: bool | None = Field(default=None, description="Ask for the usage of streams.")
    chunk_times: bool | None = Field(default=None, description="Record the time between two chunks of a stream.")
    trust_baggage: bool | None = Field(default=None, description="Take tenant, user and session from W3C baggage.")
    tenant_metrics: bool | None = Field(default=None, description="Put the tenant on metrics.")
    strict: bool | None = Field(default=None, description="Refuse agent libraries that are not bound.")
    allow: list[Text] | None = Field(
        default=None, description="Libraries that strict accepts although they are not bound."
    )
    content: Content | None = Field(
        default=None,
        description="What content is recorded; OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT takes precedence.",
    )
    error_messages: bool | None = Field(default=None, description="Record the messages of exceptions.")
    input_output_values: bool | None = Field(default=None, description="Record input.value and output.value.")
    library_spans: bool | None = Field(
        default=None, description="Export the spans that libraries open themselves, too."
    )
    hooks_enabled: bool | None = Field(default=None, description="false: no hook runs.")
    default_timeout_ms: Milliseconds | None = Field(
        default=None,
        validation_alias=seed_name("default_timeout_ms"),
        description="Milliseconds per call for hooks that set no timeout.",
    )
    chain_timeout_ms: Milliseconds | None = Field(
        default=None,
        validation_alias=seed_name("chain_timeout_ms"),
        description="Milliseconds that the hooks of one operation may use before observers are skipped.",
    )
    max_per_event: int | None = Field(
        default=None,
        ge=1,
        validation_alias=seed_name("max_per_event"),
        description="How many hooks one event and tenant may have.",
    )
    fail_open_default: bool | None = Field(
        default=None,
        validation_alias=seed_name("fail_open_default"),
        description="Whether hooks with priority 100 or above fail open if they set no fail_mode.",
    )
    execution_log_enabled: bool | None = Field(
        default=None,
        validation_alias=seed_name("execution_log_enabled"),
        description="Keep what each hook did in the execution log, in memory.",
    )
    execution_log_retention_hours: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_HOURS,
        validation_alias=seed_name("execution_log_retention_hours"),
        description="How many hours the execution log keeps an entry.",
    )
    max_request_body: int | None = Field(
        default=None, ge=1, description="Bytes of a request's body that are read for hooks with body=True."
    )
    execution_log_size: int | None = Field(
        default=None, ge=1, description="How many entries the execution log keeps at most."
    )
    definitions_dir: Text | None = Field(
        default=None,
        validation_alias=seed_name("definitions_dir"),
        description="A directory of hook definitions in YAML. A relative path starts at the folder of this file.",
    )
    definitions_allow: list[Text] | None = Field(
        default=None,
        validation_alias=seed_name("definitions_allow"),
        description="Modules, and classes such as acme.hooks:Refunds, that definitions may name besides hooks of "
        "installed packages.",
    )
    full_tracebacks: bool | None = Field(default=None, description="Keep spanhook's own frames in tracebacks.")


class StoreFrom(Strict):
    """The address of a store that is in an environment variable, because it has a password."""

    url_env: Text = Field(description="The name of the variable.")


ADDRESS = re.compile(r"^(memory|sqlite|rediss?)://")


def _checked_store(given: Any) -> Any:
    named: bool = isinstance(given, StoreFrom) or (isinstance(given, dict) and set(cast("Any", given)) == {"url_env"})
    if not named and not (isinstance(given, str) and ADDRESS.match(given)):
        raise ValueError(
            "expected memory://, sqlite:///FILE or redis://HOST:PORT/NUMBER, "
            "or {url_env: NAME} for a variable that has it"
        )
    return cast("Any", given)


Address = Annotated[str, Field(json_schema_extra={"pattern": ADDRESS.pattern})]
Store = Annotated[Address | StoreFrom, BeforeValidator(_checked_store)]


def _checked_url(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        parts = urlsplit(given)
        host = parts.hostname or ""
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))
        usable = is_safe and bool(host) and not (parts.query or parts.fragment or "@" in parts.netloc)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("expected https://HOST, or http:// on this machine, without user, query and fragment")
    return given


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _checked_key(given: Any) -> Any:
    if isinstance(given, str):
        try:
            usable = len(base64.b64decode(given, validate=True)) == KEY_BYTES
        except (binascii.Error, ValueError):
            usable = False
        if not usable:
            raise ValueError(f"expected a public key of Ed25519: {KEY_BYTES} bytes in Base64")
    return given


KEY_BYTES = 32
ServerUrl = Annotated[Text, BeforeValidator(_checked_url)]
PublicKey = Annotated[Text, BeforeValidator(_checked_key)]


class ControlPlaneEntry(Strict):
    """The server whose hooks and policies this process follows."""

    url: ServerUrl = Field(description="The address of the server, with https:// unless it is on this machine.")
    api_key_env: Text | None = Field(
        default=None, description="The environment variable with an API key that has the scope hooks:sync."
    )
    cache: Text = Field(
        default=".spanhook/hooks.json",
        description="The file that keeps the last known set. A relative path starts at the folder of this file.",
    )
    fail_mode: Literal["closed", "open"] = Field(
        default="closed", description="Whether a process that has never had a set refuses all operations, or none."
    )
    public_key: PublicKey | None = Field(
        default=None,
        description="The server's public key (Ed25519, Base64). With it, sets must be signed, of the expected tenant, "
        "and not older than the one in force.",
    )
    tenant: str | None = Field(
        default=None, description="The tenant whose sets are expected; by default that of the first one."
    )


class Policy(Strict):
    """A ready-made hook with its settings."""

    use: Text = Field(description="The short name of a ready-made hook, such as tool_policy.")
    id: Id = Field(description="Its name in decisions, metrics and dashboards; unique in the file.")
    mode: Literal["enforce", "shadow"] | None = Field(
        default=None, description="shadow: it runs and is recorded, but nothing is enforced."
    )
    priority: int | None = Field(default=None, ge=0, le=1000, description="Low runs first.")
    fail_mode: Literal["open", "closed"] | None = Field(
        default=None, description="What happens if it fails: closed refuses the operation, open continues."
    )
    timeout: float | None = Field(default=None, gt=0, le=MAX_MS / 1000, description="Seconds of its own time per call.")
    events: Names | None = Field(
        default=None, description="Kinds or events, such as tool.execute or tool.execute.pre; default: the hook's own."
    )
    tools: Names | None = Field(default=None, description="Only these tools, by exact name.")
    models: Names | None = Field(default=None, description="Only these models, by exact name.")
    agents: Names | None = Field(default=None, description="Only operations of these agents, by exact name.")
    tenant_id: Text | None = Field(default=None, description="Only operations of this tenant.")
    when: Text | None = Field(default=None, description="Only operations for which this CEL condition is true.")
    with_: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        alias="with",
        description="The hook's own settings.",
        json_schema_extra={"additionalProperties": True},
    )


class IterationsEntry(Strict):
    """Settings of the hooks that spanhook.iteration_hooks() creates; missing keys have their defaults."""

    enabled: bool | None = Field(default=None, description="Whether any of them is enabled.")
    on_iteration_start: bool | None = Field(default=None, description="Load frames when an iteration starts.")
    on_iteration_end: bool | None = Field(default=None, description="Store the result when it ends.")
    on_error: bool | None = Field(default=None, description="Store errors.")
    on_completion: bool | None = Field(default=None, description="Store the summary of a session.")
    context_frames: int | None = Field(
        default=None, ge=0, le=MOST_FRAMES, description="How many frames of the session are loaded."
    )
    include_errors_in_context: bool | None = Field(
        default=None, description="Also load errors from all of the tenant's sessions."
    )
    include_decisions_in_context: bool | None = Field(
        default=None, description="Also load decisions from all of the tenant's sessions."
    )
    max_error_context: int | None = Field(
        default=None, ge=0, le=1_000_000, description="How many characters of an error's context are stored."
    )


class Configuration(Strict):
    """A configuration file of spanhook: spanhook.yaml, or the table tool.spanhook of pyproject.toml."""

    version: Literal[1] = Field(default=1, description="The version of this format.")
    mode: Mode | None = Field(
        default=None, description="For all hooks. off: traces and usage only, no hook runs. Default: enforce."
    )
    hooks: HooksEntry | None = None
    settings: SettingsEntry = Field(default_factory=SettingsEntry)
    stores: dict[Id, Store] = Field(
        default_factory=dict[str, Any],
        description="Where policies keep what they count and ask, by name: memory://, sqlite:///FILE or redis://HOST. "
        "A policy uses the one that its store names; otherwise counters, if it counts, or default.",
    )
    control_plane: ControlPlaneEntry | None = None
    bind: BindEntry = Field(
        default_factory=BindEntry, description="Functions of the application that are tools and agents, without code."
    )
    policies: list[Policy] = Field(default_factory=list[Policy], description="Ready-made hooks, in this order.")
    cron: list[CronEntry] = Field(
        default_factory=list[CronEntry],
        description="When agents of the application run by the clock, once it has started spanhook.scheduler(). agent "
        "is ./app.py:agent or package.module:agent.",
    )

    iterations: IterationsEntry | None = Field(
        default=None,
        description="Settings of spanhook.iteration_hooks(). Their frames are in the store frames, otherwise default.",
    )

    @field_validator("cron")
    @classmethod
    def _unique(cls, given: list[CronEntry]) -> list[CronEntry]:
        seen = set[str]()
        for entry in given:
            if entry.id in seen:
                raise ValueError(f"expected unique ids; {entry.id!r} is there twice")
            if ":" not in entry.agent:
                raise ValueError(f"{entry.agent!r}: expected ./app.py:agent or package.module:agent")
            seen.add(entry.id)
        return given
