"""Records spans as the collector's file exporter writes them."""

import base64
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanhook.config import instrument, uninstrument
from spanhook.gating import Hooks
from spanhook.settings import Settings

IDS = ("traceId", "spanId", "parentSpanId")


def lines_of(spans: Sequence[ReadableSpan], batch: int = 7) -> list[str]:
    """Spans as OTLP JSON lines, some on each line."""
    return [line_of(spans[start : start + batch]) for start in range(0, len(spans), batch)]


def line_of(spans: Sequence[ReadableSpan]) -> str:
    """Spans as one line; ids are hex, unlike protobuf's own JSON has bytes."""
    found = MessageToDict(encode_spans(spans))
    _hex(found)
    return json.dumps(found)


def _hex(value: Any) -> None:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        for name, one in found.items():
            if name in IDS:
                found[name] = base64.b64decode(one).hex()
            else:
                _hex(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            _hex(one)


class Recording:
    """What was exported while it was made."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def write(self, path: Path, change: Callable[[str], str] | None = None) -> str:
        """Write the spans to a file; returns its path."""
        text = "".join(f"{line}\n" for line in lines_of(self.spans))
        path.write_text(text if change is None else change(text), "utf-8")
        return str(path)


@contextmanager
def recording(hooks: Hooks | None, *, content: bool = True) -> Generator[Recording]:
    """Record what is done in the block, with hooks enforced."""
    made = Recording()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(made.exporter))
    settings = Settings(content="SPAN_ONLY" if content else "NO_CONTENT")
    instrument(hooks, tracer_provider=provider, settings=settings)
    try:
        yield made
    finally:
        uninstrument()
