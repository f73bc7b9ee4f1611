"""Another instrumentation: plain OpenTelemetry without spanhook, which opens a span for a model call."""

from functools import cache

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Tracer

from spanhook import semconv
from spanhook.cli.load.steps import Foreign


@cache
def provider() -> TracerProvider:
    """A separate provider that samples everything: what hooks observe must not depend on what is exported."""
    return TracerProvider(ALWAYS_ON, shutdown_on_exit=False)


def tracer() -> Tracer:
    return provider().get_tracer("acme.instrumentation")


def is_recording() -> bool:
    """Whether spans are created at all: not with ``OTEL_SDK_DISABLED``."""
    span = tracer().start_span("probe")
    recording = span.is_recording()
    span.end()
    return recording


def call_elsewhere(step: Foreign) -> None:
    """Call a model, and describe the call in a span."""
    asked = {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: "foreign",
        semconv.GEN_AI_REQUEST_MODEL: step.model,
    }
    with tracer().start_as_current_span(f"chat {step.model}", attributes=asked) as span:
        span.set_attributes(
            {
                semconv.GEN_AI_RESPONSE_MODEL: step.model,
                semconv.GEN_AI_USAGE_INPUT_TOKENS: step.tokens.prompt,
                semconv.GEN_AI_USAGE_OUTPUT_TOKENS: step.tokens.completion,
                semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: step.tokens.cache_read,
            }
        )
