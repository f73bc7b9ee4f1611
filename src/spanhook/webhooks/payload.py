"""What is told of an event: what ``Event.payload`` has, as JSON, and content only if telemetry has it, too."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from opentelemetry.trace import set_span_in_context

from spanhook.model import Event
from spanhook.store import OutboxEntry
from spanhook.telemetry import concealed_for, telemetry
from spanhook.webhooks.envelope import cloud_event, new_event_id
from spanhook.webhooks.tracing import traceparent

MOST_BYTES = 256 * 1024
"""The largest body; a larger one goes without content, or without any data."""
_CONTENT = ("input", "output")
_DEEPEST = 50


def entry_of(event: Event, source: str) -> OutboxEntry:
    """An event as it is sent.

    Args:
        event: The event.
        source: Where it has happened, as a URI reference.
    """
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

    body = body_of(event.tenant_id, event.payload(content=_with_content()), written)
    return OutboxEntry(event_id, event.type, body, time_ns, traceparent(set_span_in_context(event._record.span)))


def body_of(tenant: str, told: Mapping[str, Any], written: Callable[[Mapping[str, Any]], str]) -> str:
    """What is sent of an event.

    Args:
        tenant: Whose it is; empty for nobody's.
        told: What there is to say. ``input`` and ``output`` are content, ``error`` the message of an exception.
        written: Makes the body of what is said of it.
    """
    plain = {name: value for name, value in told.items() if name not in _CONTENT and name != "error"}
    error = told.get("error")
    if telemetry.error_messages and error and len(error) <= MOST_BYTES:
        plain["error"] = concealed_for(tenant, error)
    if _with_content():
        body = _tried(lambda: written({**plain, **_content(tenant, told)}))
        if body:
            return body
        plain["content_left_out"] = True
    return _tried(lambda: written(plain)) or written({"data_left_out": True})


def _content(tenant: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """What there is of content, concealed; that takes a while, so what is too large is refused before."""
    texts = {name: json.dumps(told[name], default=str, separators=(",", ":")) for name in _CONTENT if name in told}
    if sum(map(len, texts.values())) > MOST_BYTES:
        raise ValueError("it is too large")
    return {name: _plain(tenant, json.loads(text), 0) for name, text in texts.items()}


def _with_content() -> bool:
    return telemetry.span_content or telemetry.event_content


def _tried(write: Callable[[], str]) -> str:
    """A body; empty if it is too large or cannot be written."""
    try:
        body = write()
    except (TypeError, ValueError, RecursionError):
        return ""
    return body if len(body) <= MOST_BYTES else ""


def _plain(tenant: str, value: Any, depth: int) -> Any:
    """A value as plain data in which all texts are as they may be recorded."""
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(value, str):
        return concealed_for(tenant, value)
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        return {concealed_for(tenant, name): _plain(tenant, one, depth + 1) for name, one in known.items()}
    if isinstance(value, list):
        return [_plain(tenant, one, depth + 1) for one in cast("list[Any]", value)]
    return value
