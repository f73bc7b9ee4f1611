"""Writes spans as OTLP JSON, field by field."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

START_NS = 1_750_000_000_000_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"
_ids = count(1)


def value_of(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [value_of(one) for one in value]}}
    return {"stringValue": value}


def attributes_of(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value_of(value)} for name, value in given.items()]


def span(
    kind: str = "tool.execute",
    *,
    at: float = 0.0,
    seconds: float = 1.0,
    parent: str = "",
    flags: int = 0x100,
    status: str = "success",
    decisions: tuple[tuple[str, str, str], ...] = (),
    message: str = "",
    events: tuple[tuple[str, Mapping[str, Any]], ...] = (),
    **attributes: Any,
) -> dict[str, Any]:
    """One span; attributes have ``__`` for the dots in their names."""
    told = {"spanhook.kind": kind, "spanhook.status": status} if kind else {}
    told |= {name.replace("__", "."): value for name, value in attributes.items()}
    noted = [*events]
    for hook, phase, decision in decisions:
        said = {"spanhook.hook": hook, "spanhook.event": f"{kind}.{phase}", "spanhook.decision": decision}
        noted.append(("spanhook.decision", said))
        told |= {"spanhook.decision": decision, "spanhook.decision.hook": hook}
    start = START_NS + int(at * 1e9)
    return {
        "traceId": TRACE,
        "spanId": f"{next(_ids):016x}",
        "parentSpanId": parent,
        "flags": flags,
        "name": kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(seconds * 1e9)),
        "attributes": attributes_of(told),
        "events": [
            {"timeUnixNano": str(start), "name": name, "attributes": attributes_of(said)} for name, said in noted
        ],
        "status": {"code": 2, "message": message} if status in ("error", "rejected") else {},
    }


def line(*spans: Mapping[str, Any], scope: str = "spanhook", service: str = "desk") -> str:
    resource = {"attributes": attributes_of({"service.name": service})}
    scope_spans = [{"scope": {"name": scope}, "spans": spans}]
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scope_spans}]})
