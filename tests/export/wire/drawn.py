"""What an SDK may export, drawn at random: attributes, resources, scopes, contexts of spans, and times."""

from http import HTTPMethod, HTTPStatus
from typing import Any

from hypothesis import strategies as st
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState

texts = st.text(max_size=8)
odd_texts = st.text(st.characters(), max_size=3)
"""With lone surrogates."""
integers = st.integers(-(2**63), 2**63 - 1) | st.sampled_from((0, 1, 127, 128, 2**14, 2**31, 2**63 - 1, -1, -(2**63)))
huge = st.integers(2**63, 2**66) | st.integers(-(2**66), -(2**63) - 1)
times = st.none() | st.integers(0, 2**64 - 1)
derived = st.sampled_from((HTTPMethod.GET, HTTPStatus.OK, SpanKind.CLIENT))
"""Of classes derived from plain ones, and of one that is not."""
plain = texts | integers | st.booleans() | st.floats()
values: st.SearchStrategy[Any] = st.recursive(
    plain | st.binary(max_size=4) | st.none() | odd_texts | huge | derived,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
sequences = st.sampled_from((texts, integers, st.booleans(), st.floats())).flatmap(
    lambda one: st.lists(one, max_size=3)
)
keys = st.text(min_size=1, max_size=6) | odd_texts.filter(bool)


def _bounded(drawn: dict[str, Any]) -> BoundedAttributes:
    return BoundedAttributes(attributes=drawn)


plain_attributes = st.dictionaries(st.text(min_size=1, max_size=6), plain | sequences.map(tuple), max_size=5)
known_attributes: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    plain_attributes,
    plain_attributes.map(_bounded),
    plain_attributes.map(lambda drawn: BoundedAttributes(0, drawn)),
)
attributes: st.SearchStrategy[Any] = st.one_of(
    known_attributes,
    st.dictionaries(keys, values | sequences, max_size=4),
    st.dictionaries(keys, values | sequences, max_size=4).map(_bounded),
)
urls = st.sampled_from((None, "", "https://schema"))
resources = st.builds(Resource, plain_attributes, urls)
scopes = st.none() | st.builds(InstrumentationScope, texts, st.none() | texts, urls, plain_attributes)
states = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3).map(
    lambda drawn: TraceState(list(drawn.items()))
)
contexts = st.builds(
    SpanContext,
    st.integers(0, 2**128 - 1),
    st.integers(0, 2**64 - 1),
    st.booleans(),
    st.integers(0, 255).map(TraceFlags),
    st.none() | states,
)
