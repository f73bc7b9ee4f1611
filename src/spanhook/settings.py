"""How spanhook behaves in one process, apart from its hooks."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from spanhook.errors import ConfigurationError

Mode = Literal["enforce", "shadow", "off"]
Content = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MAX_PER_EVENT = 20
LONGEST_HOURS = 365 * 24
_CONTENT = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")


@dataclass(frozen=True, slots=True)
class Settings:
    """How spanhook behaves in one process.

    Attributes:
        mode: ``"enforce"``; ``"shadow"``: every hook runs beside the call, and what it would have done is recorded
            but not done; or ``"off"``: only traces and usage, no hooks run.
        steps: Create a span for every graph node, not only for nodes that a hook applies to.
        stream_usage: Request usage for streams in OpenAI's format where the application did not; the extra chunk is
            hidden from the application. Unset: while an enforced hook limits what calls use, such as a budget.
        chunk_times: Record the time between stream chunks if there is a meter provider: one histogram record per chunk,
            written when the stream has ended.
        trust_baggage: Take tenant, user and session from incoming W3C baggage if the application sets none.
        tenant_metrics: Also put the tenant on metrics; use it only if the number of tenants is bounded.
        strict: Refuse agent libraries that are not bound: ``instrument`` raises where one is imported, and later
            imports of one fail.
        allow: Libraries that may be present without being bound: they cause no warning, and ``strict`` accepts them.
        content: Whether prompts, completions, arguments and results are recorded; if unset, the conventions' variable
            ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` decides.
        input_output_values: Also write the input and output of agents and tools to their spans as ``input.value`` and
            ``output.value``, for readers that show only these. They contain content.
        library_spans: Also export the spans that libraries open themselves for calls that are operations. Only
            providers that ``spanhook run`` creates leave them out.
        full_tracebacks: Leave spanhook's own frames in the tracebacks of errors that pass through it.
        hooks_enabled: Whether hooks run at all; ``False`` is the same as ``mode="off"``.
        default_timeout_ms: Milliseconds per call for hooks that set no timeout; 200 if unset, 10,000 for hooks of kind
            ``run``.
        chain_timeout_ms: Milliseconds that the hooks of one operation may use before observers are skipped; 500 if
            unset. Gates always run.
        max_per_event: How many hooks one event and tenant may have.
        fail_open_default: Whether hooks with priority 100 or above fail open if they set no ``fail_mode``.
        execution_log_enabled: Keep what each hook did in the execution log, in memory; see ``spanhook.definitions``.
        execution_log_retention_hours: How many hours it keeps an entry.
        execution_log_size: How many entries it keeps at most.
        definitions_dir: A directory of hook definitions in YAML to load; see ``spanhook.definitions``.
        definitions_allow: Modules, and classes such as ``acme.hooks:Refunds``, that definitions may name besides the
            ready-made hooks and those of installed distributions.
        request_identity: Says who sent a request to a server, given its ASGI scope: a mapping with ``tenant_id``,
            ``user_id`` and ``session_id``, as far as known. Unset: what authentication left in ``request.state`` and
            ``scope["user"]``.
        max_request_body: How many bytes of a request's body are read for hooks with ``body=True``; longer ones are
            refused with status 413.
        error_messages: Record exception messages even when content is not recorded; they may quote content.
    """

    mode: Mode = "enforce"
    steps: bool = False
    stream_usage: bool | None = None
    chunk_times: bool = True
    trust_baggage: bool = False
    tenant_metrics: bool = False
    strict: bool = False
    allow: Iterable[str] = ()
    content: Content | None = None
    error_messages: bool = False
    input_output_values: bool = False
    library_spans: bool = False
    full_tracebacks: bool = False
    hooks_enabled: bool = True
    default_timeout_ms: float | None = None
    chain_timeout_ms: float | None = None
    max_per_event: int = MAX_PER_EVENT
    fail_open_default: bool = True
    execution_log_enabled: bool = False
    execution_log_retention_hours: float = 24
    execution_log_size: int = 1000
    definitions_dir: str | None = None
    definitions_allow: Iterable[str] = ()
    request_identity: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    max_request_body: int = 1_048_576

    def __post_init__(self) -> None:
        """Check what the types cannot, and take a snapshot of the names.

        Raises:
            ConfigurationError: A value is unknown or out of range.
        """
        if self.mode not in get_args(Mode):
            raise ConfigurationError(f"mode {self.mode!r} is unknown; expected one of {', '.join(get_args(Mode))}")
        for name in ("default_timeout_ms", "chain_timeout_ms"):
            given: Any = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int | float) or not given > 0):
                raise ConfigurationError(f"{name}={given!r}; expected milliseconds above 0, or None for the default")
        for name in ("max_per_event", "execution_log_size", "max_request_body"):
            given = getattr(self, name)
            if type(given) is not int or given < 1:
                raise ConfigurationError(f"{name}={given!r}; expected a whole number above 0")
        hours: Any = self.execution_log_retention_hours
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 < hours <= LONGEST_HOURS:
            raise ConfigurationError(
                f"execution_log_retention_hours={hours!r}; expected hours above 0, up to {LONGEST_HOURS} (a year)"
            )
        for name in ("allow", "definitions_allow"):
            given = getattr(self, name)
            object.__setattr__(self, name, frozenset([given] if isinstance(given, str) else given))

    def captured(self) -> Content:
        """Where content is recorded.

        Raises:
            ConfigurationError: The variable holds none of the four values.
        """
        value = self.content or os.environ.get(CONTENT_VARIABLE, "").strip().upper() or "NO_CONTENT"
        if value in ("TRUE", "1"):  # accepted by instrumentations older than the four values
            value = "SPAN_ONLY"
        if value in ("FALSE", "0"):
            value = "NO_CONTENT"
        for known in _CONTENT:
            if value == known:
                return known  # pyright: ignore[reportReturnType]
        said = f"content={self.content!r}" if self.content else f"{CONTENT_VARIABLE}={value!r}"
        raise ConfigurationError(f"{said}; expected one of {', '.join(_CONTENT)}")
