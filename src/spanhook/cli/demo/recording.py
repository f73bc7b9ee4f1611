"""What the demo records: the tree of each run, and its spans as a provider exports them."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

from langsmith import tracing_context  # pyright: ignore[reportUnknownVariableType]
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from spanhook import export
from spanhook.bootstrap import read_environment
from spanhook.cli.demo.hooks import cache, hooks
from spanhook.config import instrument, uninstrument
from spanhook.engine import listeners
from spanhook.export.console import Node, Trees
from spanhook.settings import Settings

SERVICE = "spanhook-demo"
FLUSH_SECONDS = 5.0


class Recording(SpanProcessor):
    """What has ended so far.

    Attributes:
        trees: The runs, in order of ending.
        spans: The spans.
    """

    def __init__(self) -> None:
        self.trees: list[Node] = []
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)

    def take(self, tree: Node) -> None:
        """Keep a run; an operation that ended after its run is not kept."""
        if not tree.within:
            self.trees.append(tree)


@contextmanager
def recorded() -> Generator[Recording, None, None]:
    """Instrument while the block runs, and export as the ``OTEL_*`` variables ask.

    Of spanhook's variables, only those that control what is recorded apply; the hooks and their mode are the demo's.

    Raises:
        ConfigurationError: A variable has an invalid value.
    """
    over = read_environment(os.environ).over
    settings = Settings(**{name: over[name] for name in ("error_messages", "input_output_values") if name in over})
    seen = Recording()
    listener = Trees(seen.take)
    export.setup(SERVICE, console=sys.stderr)
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(seen)
    cache.clear()
    listeners.append(listener)
    instrument(hooks, tracer_provider=provider, settings=settings)
    try:
        with tracing_context(enabled=False):  # a key for LangSmith must not send the demo's runs there
            yield seen
    finally:
        export.flush(FLUSH_SECONDS)  # before the counters are removed from their provider
        uninstrument()
        listeners.remove(listener)
