"""Usage as reported by a provider, in the conventions' terms."""

from collections.abc import Callable
from typing import Any

from spanhook import semconv
from spanhook.instrument.wire._estimate import estimate
from spanhook.instrument.wire.reading import Fields, extra_of, extras_of, fields_of, noted, text_of
from spanhook.model import MOST_TOKENS, Attributes, Usage

UsagePlaces = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Where counts are reported: by the name of the object around them, empty for the report itself, the fields of
``Usage`` and their reported names."""


def usage_places(**fields: str) -> UsagePlaces:
    """Where counts are reported, given the reported name for each field of ``Usage``; dotted if nested."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, place in fields.items():
        around, _, last = place.rpartition(".")
        found.setdefault(around, []).append((name, last))
    return tuple((around, tuple(counts)) for around, counts in found.items())


def counted(reported: Any, places: UsagePlaces) -> Usage | None:
    """The counts in a report, which is a model, or JSON; ``None`` if nothing was reported."""
    told, used = fields_of(reported), Usage()
    if not told:
        if not reported:
            return None
        used.skip("usage")
        return used
    more = None if told is reported else extras_of(reported)
    for around, counts in places:
        holder, fields = reported, told
        if around:
            holder = told.get(around)
            if holder is None and more:
                holder = more.get(around)
            if not holder:
                continue
            fields = fields_of(holder)
        for name, last in counts:
            value = fields.get(last)
            if type(value) is not int or not 0 <= value <= MOST_TOKENS:
                value = used.count(extra_of(holder, last) if value is None else value, name)
            setattr(used, name, value)
    return used


def bounded(used: Usage) -> Usage:
    """The same usage, with no part larger than its whole."""
    if not (used.cache_read_tokens or used.cache_write_tokens or used.cache_hour_tokens or used.reasoning_tokens):
        return used
    used.cache_read_tokens = min(used.cache_read_tokens, used.input_tokens)
    used.cache_write_tokens = min(used.cache_write_tokens, used.input_tokens - used.cache_read_tokens)
    if used.cache_hour_tokens:
        used.cache_hour_tokens = min(used.cache_hour_tokens, used.cache_write_tokens)
    used.reasoning_tokens = min(used.reasoning_tokens, used.output_tokens)
    return used


def responses(
    usage_of: Callable[[Any], Usage | None], reason: str
) -> Callable[[Fields], tuple[Attributes, Usage | None]]:
    """A function that reads an answer's id, model, finish reason and usage.

    Args:
        usage_of: Reads its ``usage``.
        reason: The field with the finish reason.
    """

    def response(told: Fields) -> tuple[Attributes, Usage | None]:
        attributes = noted(told, (("id", semconv.GEN_AI_RESPONSE_ID), ("model", semconv.GEN_AI_RESPONSE_MODEL)))
        why = text_of(told.get(reason))
        if why:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (why,)
        return attributes, usage_of(told.get("usage"))

    return response


def usage_in_stream(used: Usage | None, body: Fields, characters: int, *, is_whole: bool = True) -> Usage:
    """Usage of a stream: what it reported, or an estimate of what it did not.

    Args:
        used: What it reported: if it was cut short, the input and perhaps part of the output. That it used no output
            tokens is not believed if text has arrived.
        body: The request's JSON.
        characters: How many have arrived.
        is_whole: Whether the part that reports usage has arrived.
    """
    if used is not None and is_whole and (used.output_tokens or not characters or used.uncounted):
        return used
    guess = estimate(body, characters)
    if used is None or not used.total_tokens:
        return guess
    used.output_tokens, used.source = max(used.output_tokens, guess.output_tokens), "estimate"
    return used
