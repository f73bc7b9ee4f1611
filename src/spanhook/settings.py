"""How spanhook behaves in one process, beyond which hooks there are."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from spanhook.errors import ConfigurationError

Mode = Literal["enforce", "shadow", "off"]
Content = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CONTENT = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")


@dataclass(frozen=True, slots=True)
class Settings:
    """How spanhook behaves in one process.

    Attributes:
        mode: ``"enforce"``; ``"shadow"``: every hook runs beside the call, and what it would have done is recorded
            but not done; or ``"off"``: traces and usage only, no hook runs.
        steps: Make a span of every graph node, not only of those that a hook is for.
        stream_usage: Ask for a stream's usage where the application did not; the extra chunk is hidden from it.
        chunk_times: Record the time between two chunks of a stream, where there is a meter provider: one record of a
            histogram for each chunk, once the stream has ended.
        trust_baggage: Take tenant, user and session from incoming W3C baggage where the application sets none.
        tenant_metrics: Put the tenant on metrics too; only for a bounded number of tenants.
        strict: Refuse agent libraries that are not bound: ``instrument`` raises where one is imported, and later
            imports of one fail.
        allow: Libraries that may be there without being bound: nothing is said of them, and ``strict`` lets them be.
        content: Whether prompts, completions, arguments and results are recorded; the conventions' own variable
            ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` unless given.
        input_output_values: Also write what agents and tools are given, and what comes of them, to their spans as
            ``input.value`` and ``output.value``, for readers that show only these. This is content.
        full_tracebacks: Leave spanhook's own frames in the tracebacks of errors that pass through it.
        error_messages: Record what exceptions say even where content is not recorded, of which it may quote some.
    """

    mode: Mode = "enforce"
    steps: bool = False
    stream_usage: bool = False
    chunk_times: bool = True
    trust_baggage: bool = False
    tenant_metrics: bool = False
    strict: bool = False
    allow: Iterable[str] = ()
    content: Content | None = None
    error_messages: bool = False
    input_output_values: bool = False
    full_tracebacks: bool = False

    def __post_init__(self) -> None:
        """Refuse what the types do not allow, and keep names as they are now.

        Raises:
            ConfigurationError: ``mode`` is unknown.
        """
        if self.mode not in get_args(Mode):
            raise ConfigurationError(f"mode {self.mode!r} is unknown; expected one of {', '.join(get_args(Mode))}")
        object.__setattr__(self, "allow", frozenset([self.allow] if isinstance(self.allow, str) else self.allow))

    def captured(self) -> Content:
        """What content is recorded.

        Raises:
            ConfigurationError: The variable holds none of the four values.
        """
        value = self.content or os.environ.get(CONTENT_VARIABLE, "").strip().upper() or "NO_CONTENT"
        if value in ("TRUE", "1"):  # what instrumentations before the four values were defined took
            value = "SPAN_ONLY"
        if value in ("FALSE", "0"):
            value = "NO_CONTENT"
        for known in _CONTENT:
            if value == known:
                return known  # pyright: ignore[reportReturnType]
        said = f"content={self.content!r}" if self.content else f"{CONTENT_VARIABLE}={value!r}"
        raise ConfigurationError(f"{said}; expected one of {', '.join(_CONTENT)}")
