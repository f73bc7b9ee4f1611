"""Log events that hooks emit themselves, on the logger provider that spanhook reports to."""

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber

from spanhook.model import encodable_body, make_encodable
from spanhook.telemetry import telemetry


def emit_event(
    name: str,
    attributes: Mapping[str, str | bool | int | float | Sequence[str]],
    body: Any = None,
    *,
    warning: bool = False,
) -> bool:
    """Emit a log event; it belongs to the current span, if there is one.

    Args:
        name: The event's name.
        attributes: Its attributes.
        body: Plain data, if any.
        warning: Emit it with the severity WARN instead of INFO.

    Returns:
        Whether there is a logger provider to emit it on.
    """
    logger = telemetry.logger
    if logger is None:
        return False
    told: dict[str, Any] = dict(attributes)
    make_encodable(told)
    severity = SeverityNumber.WARN if warning else SeverityNumber.INFO
    logger.emit(LogRecord(event_name=name, attributes=told, body=encodable_body(body), severity_number=severity))
    return True
