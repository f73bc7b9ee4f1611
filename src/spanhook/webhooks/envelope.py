"""What is sent: CloudEvents 1.0 in structured mode, as JSON (https://github.com/cloudevents/spec/tree/v1.0.2)."""

import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

MEDIA_TYPE = "application/cloudevents+json; charset=utf-8"
PREFIX = "spanhook."
"""What types of events begin with outside of this process: CloudEvents asks for names that are nobody else's."""
_SECOND = 1_000_000_000


def new_event_id() -> str:
    """A random id, without the full stop that signatures are made with."""
    return f"evt_{secrets.token_hex(12)}"


def utc_text(at: datetime) -> str:
    """A time as text, in UTC, which is ``Z``."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def cloud_event(
    event_id: str, event_type: str, data: Any, *, source: str, time_ns: int, subject: str = "", tenant: str = ""
) -> str:
    """An event as JSON text.

    Args:
        event_id: Its id.
        event_type: Its type, such as ``tool.execute.post``.
        data: What has happened, as plain data.
        source: Where, as a URI reference, such as ``/spanhook/checkout``.
        time_ns: When, in nanoseconds since the epoch.
        subject: What it is about, such as the id of a job; empty for nothing.
        tenant: Whose it is; empty for nobody's. An extension attribute, ``tenantid``.

    Raises:
        ValueError: The data is no JSON.
        TypeError: The same.
    """
    at = datetime.fromtimestamp(time_ns // _SECOND, UTC)
    event: Mapping[str, Any] = {
        "specversion": "1.0",
        "id": event_id,
        "source": source,
        "type": f"{PREFIX}{event_type}",
        "time": f"{at:%Y-%m-%dT%H:%M:%S}.{time_ns % _SECOND // 1000:06}Z",
        "datacontenttype": "application/json",
        **({"subject": subject} if subject else {}),
        **({"tenantid": tenant} if tenant else {}),
        "data": data,
    }
    return json.dumps(event, separators=(",", ":"), allow_nan=False)
