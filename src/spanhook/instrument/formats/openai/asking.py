"""Requests the usage of a stream, which OpenAI only reports if asked to."""

from typing import Any

from spanhook.instrument.wire import Fields


class Asked(dict[str, Any]):
    """``stream_options`` added by spanhook: the chunk that answers them is hidden from the application."""


def asking_for_usage(body: Fields) -> Fields | None:
    """The JSON of a request with usage requested for its stream; ``None`` if the application has decided about it."""
    options = body.get("stream_options") or {}
    if not body or "include_usage" in options:
        return None
    return {**body, "stream_options": Asked(options, include_usage=True)}


def was_asked(body: Fields) -> tuple[bool, bool]:
    """Whether the application requested a stream's usage, and whether spanhook did."""
    options = body.get("stream_options")
    if not options or not options.get("include_usage"):
        return False, False
    ours = isinstance(options, Asked)
    return not ours, ours
