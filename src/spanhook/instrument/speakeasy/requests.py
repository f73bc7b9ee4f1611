"""The request of a call, as the SDK has built it: reads its JSON, and copies it with other JSON."""

import json
from typing import Any

from spanhook.instrument.wire import Fields
from spanhook.model import Args, Kwargs

_READ = "_spanhook_json"
"""The attribute of a request that keeps its JSON once it has been read."""
_NOTHING: Fields = {}
_REQUEST, _STREAM = 1, 3
"""The places of the arguments."""


def request_of(args: Args, kwargs: Kwargs) -> Any:
    """The ``httpx.Request`` of a call."""
    return args[_REQUEST] if len(args) > _REQUEST else kwargs["request"]


def is_unread(args: Args, kwargs: Kwargs) -> bool:
    """Whether the SDK gets the response before its body has been read."""
    return bool(args[_STREAM] if len(args) > _STREAM else kwargs.get("stream"))


def json_of(request: Any) -> Fields:
    """The JSON that will be sent, or the fields of a form; empty if it is neither. It is read once, and not changed."""
    known = vars(request).get(_READ)
    if known is None:
        known = _read(request)
        setattr(request, _READ, known)
    return known


def _read(request: Any) -> Fields:
    if form_of(request):
        return dict(_texts(request))
    try:
        read = json.loads(request.content)
    except Exception:  # not JSON, or no body in memory
        return _NOTHING
    return read if isinstance(read, dict) else _NOTHING


def with_json(request: Any, body: Fields) -> Any:
    """A copy of the request that sends other JSON.

    Raises:
        TypeError: It sends a form.
    """
    if form_of(request):
        raise TypeError("a form with files cannot be rewritten")
    headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
    content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return type(request)(request.method, request.url, headers=headers, content=content, extensions=request.extensions)


def form_of(request: Any) -> Any:
    """The parts of a form; empty if the request sends none."""
    return getattr(request.stream, "fields", ())


def _texts(request: Any) -> list[tuple[str, str]]:
    """The fields of a form that are not files."""
    return [(one.name, one.value) for one in form_of(request) if isinstance(getattr(one, "value", None), str)]
