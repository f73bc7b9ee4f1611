"""Opening and filling spans at the price of the SDK alone, or less.

The SDK validates every attribute again, at about a microsecond each. What spanhook writes is checked here with one look
at its type, and stored directly where the SDK's span keeps it; wherever anything about that is unfamiliar (another
SDK, a limit in force, a value that is not plain) the public method is used. ``tests/test_spans.py`` holds both to the
same result on every supported version.
"""

from typing import Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

_PLAIN = frozenset((str, int, float, bool))
_KEY = next(iter(set_span_in_context(INVALID_SPAN, Context())))


def context_with(span: Span, before: Context) -> Context:
    """``set_span_in_context`` with one copy of the context instead of two."""
    return Context({**before, _KEY: span})


def fill(span: Span, attributes: dict[str, Any]) -> None:
    """Set attributes on a recording span. Sequences must be tuples of strings."""
    held = getattr(span, "_attributes", None)
    if type(held) is BoundedAttributes and held.max_value_len is None:
        stored = getattr(held, "_dict", None)
        if type(stored) is dict and (held.maxlen is None or len(stored) + len(attributes) <= held.maxlen):
            for value in attributes.values():
                kind = type(value)
                if kind not in _PLAIN and not (kind is tuple and all(type(one) is str for one in value)):
                    break
            else:
                stored.update(attributes)
                return
    span.set_attributes(attributes)
