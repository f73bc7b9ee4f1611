"""The lower bound: the same spans that an operation created, created again by bare SDK calls.

Names, kinds, parents, attributes and events are the same; nothing is looked up, decided, counted or set as current.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, Tracer, set_span_in_context

Told = dict[str, Any]
"""One span as JSON; its parent is an index into its list."""


def tell(spans: Sequence[ReadableSpan]) -> list[Told]:
    """The spans of one operation, in order of starting."""
    ordered = sorted(spans, key=lambda span: span.start_time or 0)
    index = {span.context.span_id: number for number, span in enumerate(ordered) if span.context is not None}
    return [
        {
            "name": span.name,
            "kind": span.kind.name,
            "parent": index.get(span.parent.span_id) if span.parent is not None else None,
            "attributes": dict(span.attributes or {}),
            "events": [(event.name, dict(event.attributes or {})) for event in span.events],
        }
        for span in ordered
    ]


def replay(told: Sequence[Told], tracer: Tracer, around: Context) -> Callable[[], None]:
    """A function that creates the spans again, the outermost ones inside ``around``."""
    spans = [
        (
            one["name"],
            SpanKind[one["kind"]],
            one["parent"],
            _attributes(one["attributes"]),
            [(name, _attributes(attributes)) for name, attributes in one["events"]],
        )
        for one in told
    ]

    def operation() -> None:
        made: list[Any] = []
        for name, kind, parent, attributes, events in spans:
            inside = around if parent is None else set_span_in_context(made[parent], around)
            span = tracer.start_span(name, inside, kind, attributes)
            for event, details in events:
                span.add_event(event, details)
            made.append(span)
        for span in reversed(made):
            span.end()

    return operation


def _attributes(told: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in told.items()}
