"""What a logger records of an event: plain data for JSON, with as much content as it is allowed to, redacted.

What hooks conceal (``Hook.conceal``), such as those of ``pii_redaction``, is concealed here too.
"""

import json
from typing import Any, Literal

from spanhook.gating import concealed_data
from spanhook.hooks._audit_entry import plain, without_credentials
from spanhook.model import Event, described, encodable_body

EventContent = Literal["none", "errors", "full"]
"""Nothing but names, ids and numbers; the messages of exceptions too; or input and output too."""
_CONTENT = ("input", "output")


def record_of(event: Event, content: EventContent) -> dict[str, Any]:
    """An event as plain data; docs/hooks/file-log.md lists its keys.

    Args:
        event: The event.
        content: What it may contain besides names, ids and numbers.
    """
    told = event.payload(content=content == "full")
    span = event.span.get_span_context()
    if span.is_valid:
        told |= {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
    if content == "none" and "error" in told and event.error is not None:
        told["error"] = described(event.error, in_full=False)
    for name in _CONTENT:
        if name in told:
            told |= _readable(name, without_credentials(told[name]) if event.kind == "request" else told[name])
    quoting = {name: told.pop(name) for name in ("error", *_CONTENT) if name in told}
    return encodable_body({**told, **concealed_data(event.tenant_id, quoting)})


def line_of(record: dict[str, Any]) -> str:
    """A record as one line of JSON, in ASCII, without a line feed."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _readable(name: str, value: Any) -> dict[str, Any]:
    """A value as JSON has it; without one if the application's own objects cannot be read."""
    try:
        return {name: json.loads(json.dumps(value, default=plain), parse_constant=str)}
    except Exception:
        return {name: None, f"{name}_unreadable": True}
