"""What a provider reports to have been used, in the conventions' terms."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.stainless._estimate import estimate
from spanhook.instrument.stainless.options import body_of
from spanhook.instrument.stainless.reading import extra_of, fields_of, noted, text_of
from spanhook.instrument.stainless.sdk import Sdk
from spanhook.model import Args, Attributes, Kwargs, Usage


def counted(reported: Any, places: Mapping[str, str]) -> Usage | None:
    """Counts as they were reported; ``None`` where nothing was.

    Args:
        reported: A model, or JSON.
        places: Where each field of ``Usage`` stands there; behind a dot what stands in another.
    """
    told, used = fields_of(reported), Usage()
    if not told:
        if not reported:
            return None
        used.skip("usage")
        return used
    for name, place in places.items():
        around, _, last = place.rpartition(".")
        holder = told.get(around) if around else reported
        if holder:
            value = fields_of(holder).get(last)
            setattr(used, name, used.count(extra_of(holder, last) if value is None else value, name))
    return used


def bounded(used: Usage) -> Usage:
    """The same, with no part larger than what it is a part of."""
    used.cache_read_tokens = min(used.cache_read_tokens, used.input_tokens)
    used.cache_write_tokens = min(used.cache_write_tokens, used.input_tokens - used.cache_read_tokens)
    if used.cache_hour_tokens:
        used.cache_hour_tokens = min(used.cache_hour_tokens, used.cache_write_tokens)
    used.reasoning_tokens = min(used.reasoning_tokens, used.output_tokens)
    return used


def responses(
    sdk: Sdk, usage_of: Callable[[Any], Usage | None], reason: str
) -> Callable[[Any], tuple[Attributes, Usage | None]]:
    """What reads id, model, reason to stop and usage of an answer.

    Args:
        sdk: The package whose client asked.
        usage_of: Reads its ``usage``.
        reason: The field that says why the model stopped.
    """

    def response(result: Any) -> tuple[Attributes, Usage | None]:
        told = fields_of(sdk.result_of(result))
        attributes = noted(told, (("id", semconv.GEN_AI_RESPONSE_ID), ("model", semconv.GEN_AI_RESPONSE_MODEL)))
        why = text_of(told.get(reason))
        if why:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (why,)
        return attributes, usage_of(told.get("usage"))

    return response


def cut_short(used: Usage | None, args: Args, kwargs: Kwargs, characters: int) -> Usage:
    """Usage of a stream that has not told all of it.

    Args:
        used: What it has told: the input, and perhaps some of the output.
        args, kwargs: Of the request.
        characters: How many have come.
    """
    guess = estimate(body_of(args, kwargs), characters)
    if used is None:
        return guess
    used.output_tokens, used.estimated = max(used.output_tokens, guess.output_tokens), True
    return used
