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
        return _texts(request)
    try:
        read = json.loads(request.content)
    except Exception:  # not JSON, or no body in memory
        return _NOTHING
    return read if isinstance(read, dict) else _NOTHING


def with_json(request: Any, body: Fields) -> Any:
    """A copy of the request that sends other JSON, or a form with other fields and the same files."""
    kind = type(request)
    dropped = ("content-length", "transfer-encoding", *(("content-type",) if form_of(request) else ()))
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in dropped]
    given: dict[str, Any] = {"headers": headers, "extensions": request.extensions}
    if form_of(request):
        files = [(one.name, _file(one)) for one in form_of(request) if hasattr(one, "file")]
        return kind(request.method, request.url, data=dict(body), files=files, **given)
    content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return kind(request.method, request.url, content=content, **given)


def form_of(request: Any) -> Any:
    """The parts of a form; empty if the request sends none."""
    return getattr(request.stream, "fields", ())


def _file(field: Any) -> tuple[Any, ...]:
    """A file of a form, as it is given to a request."""
    kind = {name.lower(): value for name, value in field.headers.items()}.get("content-type")
    return (field.filename, field.file) if kind is None else (field.filename, field.file, kind)


def _texts(request: Any) -> dict[str, Any]:
    """The fields of a form that are not files; those that occur several times as lists."""
    found: dict[str, Any] = {}
    for one in form_of(request):
        value = getattr(one, "value", None)
        if isinstance(value, str):
            before = found.get(one.name)
            found[one.name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return found
