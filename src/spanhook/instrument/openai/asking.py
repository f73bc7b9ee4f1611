"""Requests the usage of a stream, if the settings allow it and the application did not request it."""

from typing import Any

from spanhook.instrument.stainless import body_of, is_raw, is_streamed, with_body
from spanhook.instrument.surroundings import settings
from spanhook.model import Args, Kwargs


class Asked(dict[str, Any]):
    """``stream_options`` added by spanhook: the chunk that answers them is hidden from the application."""


def ask_for_usage(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a request with usage requested for its stream; raw requests are unchanged, because nothing can
    be hidden from them.
    """
    if not is_streamed(kwargs) or not settings().stream_usage or is_raw(args, kwargs):
        return args, kwargs
    body = body_of(args, kwargs)
    options = body.get("stream_options") or {}
    if not body or "include_usage" in options:
        return args, kwargs
    return with_body(args, kwargs, {**body, "stream_options": Asked(options, include_usage=True)})


def was_asked(args: Args, kwargs: Kwargs) -> tuple[bool, bool]:
    """Whether the application requested a stream's usage, and whether spanhook did."""
    options = body_of(args, kwargs).get("stream_options")
    if not options or not options.get("include_usage"):
        return False, False
    ours = isinstance(options, Asked)
    return not ours, ours
