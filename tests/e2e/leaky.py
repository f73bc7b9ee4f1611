"""An application with a span processor that takes nothing, so that spanhook cannot keep what it makes."""

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

CALLS = 3


class Full(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise OSError("full")


if __name__ == "__main__":
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(Full())
    for _ in range(CALLS):
        FakeListChatModel(responses=["go on"]).invoke("what now?")
