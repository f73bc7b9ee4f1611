"""Requests the usage of a stream, which OpenAI only reports if asked to."""

from typing import Any

from spanhook.instrument.wire import Fields


class Asked(dict[str, Any]):
    """``stream_options`` added by spanhook: the chunk that answers them is hidden from the application.

    Args:
        before: What the application gave; ``None`` if nothing.
    """

    def __init__(self, before: Any) -> None:
        super().__init__(before or {}, include_usage=True)
        self.before = before


def asking_for_usage(body: Fields) -> Fields | None:
    """The JSON of a request with usage requested for its stream; ``None`` if the application has decided about it."""
    options = body.get("stream_options")
    if not body or "include_usage" in (options or {}):
        return None
    return {**body, "stream_options": Asked(options)}


def not_asking(body: Fields) -> Fields | None:
    """The JSON of a request as it was before ``asking_for_usage``; ``None`` if that did not change it."""
    options = body.get("stream_options")
    if not isinstance(options, Asked):
        return None
    rest = {name: value for name, value in body.items() if name != "stream_options"}
    return rest if options.before is None else {**rest, "stream_options": options.before}


def was_asked(body: Fields) -> tuple[bool, bool]:
    """Whether the application requested a stream's usage, and whether spanhook did."""
    options = body.get("stream_options")
    if not options or not options.get("include_usage"):
        return False, False
    ours = isinstance(options, Asked)
    return not ours, ours
