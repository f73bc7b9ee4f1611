"""What is told of an event: what ``Event.payload`` has, as JSON, and content only if telemetry has it, too."""

import json
from collections.abc import Mapping
from typing import Any, cast

from spanhook.model import Event
from spanhook.store import OutboxEntry
from spanhook.telemetry import concealed_for, telemetry
from spanhook.webhooks.envelope import cloud_event, new_event_id

MOST_BYTES = 256 * 1024
"""The largest body with content; a larger one goes without it."""
_CONTENT = ("input", "output")
_DEEPEST = 50


def entry_of(event: Event, source: str) -> OutboxEntry:
    """An event as it is sent.

    Args:
        event: The event.
        source: Where it has happened, as a URI reference.
    """
    with_content = telemetry.span_content or telemetry.event_content
    told = event.payload()
    plain = {name: value for name, value in told.items() if name not in _CONTENT and name != "error"}
    if telemetry.error_messages and "error" in told:
        plain["error"] = concealed_for(event.tenant_id, told["error"])
    time_ns, event_id = int(event.timestamp.timestamp() * 1e9), new_event_id()

    def written(data: Mapping[str, Any]) -> str:
        return cloud_event(
            event_id,
            event.type,
            data,
            source=source,
            time_ns=time_ns,
            subject=event.run_id,
            tenant=event.tenant_id,
        )

    body = ""
    if with_content:
        try:
            content = {name: _plain(event.tenant_id, told[name], 0) for name in _CONTENT if name in told}
            body = written({**plain, **content})
        except (TypeError, ValueError, RecursionError):
            body = ""
    if not body or len(body) > MOST_BYTES:
        body = written({**plain, "content_left_out": True} if with_content else plain)
    return OutboxEntry(event_id, event.type, body, time_ns)


def _plain(tenant: str, value: Any, depth: int) -> Any:
    """A value as plain data in which all texts are as they may be recorded."""
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if depth == 0:
        value = json.loads(json.dumps(value, default=str))
    if isinstance(value, str):
        return concealed_for(tenant, value)
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        return {concealed_for(tenant, name): _plain(tenant, one, depth + 1) for name, one in known.items()}
    if isinstance(value, list):
        return [_plain(tenant, one, depth + 1) for one in cast("list[Any]", value)]
    return value
