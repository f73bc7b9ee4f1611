"""An exporter whose backend is gone, beside which calls are made."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanhook.gating import Hooks
from spanhook.testing import Recorder, recorder


class _Down(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        raise ConnectionError("the backend is down")


@contextmanager
def without_backend(hooks: Hooks) -> Generator[Recorder]:
    """A recorder with an exporter beside it that fails for every span."""
    with _unlogged(), recorder(hooks) as seen:
        seen.tracer_provider.add_span_processor(SimpleSpanProcessor(_Down()))
        yield seen


@contextmanager
def _unlogged() -> Generator[None]:
    """Without what the SDK logs of exporters that fail."""
    log = logging.getLogger("opentelemetry")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
