"""The options of a request, as the SDK passes them to its transport: reads them, and copies them with another body."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from spanhook.instrument.wire import Fields, bytes_of, settled
from spanhook.model import Args, Kwargs

RAW_HEADER = "X-Stainless-Raw-Response"
"""Set by ``with_raw_response`` to ``true`` and by ``with_streaming_response`` to ``stream``."""


def options_of(args: Args, kwargs: Kwargs) -> Any:
    """The ``FinalRequestOptions`` of a call of ``request``."""
    return args[1] if len(args) > 1 else kwargs["options"]


def body_of(args: Args, kwargs: Kwargs) -> Fields:
    """The JSON that will be sent, ``extra_body`` included; empty if the body is not a JSON object."""
    options = args[1] if len(args) > 1 else kwargs["options"]  # as `options_of`, without a call: it is read often
    body, extra = options.json_data, options.extra_json
    if isinstance(body, Mapping):
        return {**body, **extra} if extra else body
    if body is None and extra:
        return extra
    written = getattr(options, "content", None) if body is None else body
    if not isinstance(written, bytes | bytearray | str):
        return {}
    try:
        read = json.loads(written)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def with_body(args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:
    """The arguments with a copy of the options that sends ``body`` instead."""
    options = options_of(args, kwargs)
    changes: dict[str, Any] = {"json_data": dict(body)}
    if options.extra_json is not None:
        changes["extra_json"] = {}  # already merged; an empty dict still makes the SDK remove omitted fields
    if getattr(options, "content", None) is not None:
        changes["content"] = None
    return with_options(args, kwargs, **changes)


def with_options(args: Args, kwargs: Kwargs, **changes: Any) -> tuple[Args, Kwargs]:
    """The arguments with a changed copy of the options."""
    options = copy.copy(options_of(args, kwargs))
    for name, value in changes.items():
        setattr(options, name, value)
    if len(args) > 1:
        return (args[0], options, *args[2:]), kwargs
    return args, {**kwargs, "options": options}


def is_raw(args: Args, kwargs: Kwargs) -> bool:
    """Whether the caller gets the response itself instead of its parsed content."""
    headers = options_of(args, kwargs).headers
    return isinstance(headers, Mapping) and bool(headers.get(RAW_HEADER))


def is_streamed(kwargs: Kwargs) -> bool:
    """Whether the caller gets a stream of events."""
    return bool(kwargs.get("stream"))


def settle(options: Any) -> None:
    """Replace what the options of a request would send with plain data, where it is not plain already.

    Data that contains itself stays as it is; no SDK can send it.
    """
    try:
        for name in ("json_data", "extra_json"):
            given = getattr(options, name, None)
            if given is not None and (made := settled(given)) is not given:
                setattr(options, name, made)
    except RecursionError:
        return
    content = getattr(options, "content", None)
    if content is not None and not isinstance(content, bytes | bytearray | str):
        read = bytes_of(content)
        if read is not content:
            options.content = read
